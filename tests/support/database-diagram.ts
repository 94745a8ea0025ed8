// Generates the diagrams of the foreign keys in docs/database.md, in the language Mermaid. Runs the migrations of a
// service in an empty database and reads the foreign keys from the catalogue of PostgreSQL.
import { join } from 'node:path';
import { migrate } from '@bay-booking/service/database/migrate';
import type { AppName } from './commands.ts';
import { queryOnce } from './database-server.ts';

const root = join(import.meta.dirname, '../..');

export const databasePage = join(root, 'docs/database.md');

interface ForeignKey {
  readonly child: string;
  readonly parent: string;
  /** The names of the columns in the child table, separated by commas. */
  readonly columns: string;
}

const foreignKeysOf = `select k.conrelid::regclass::text as child, k.confrelid::regclass::text as parent,
    (select string_agg(a.attname, ', ' order by position) from unnest(k.conkey) with ordinality key (attnum, position)
       join pg_attribute a on a.attrelid = k.conrelid and a.attnum = key.attnum) as columns
  from pg_constraint k where k.contype = 'f' and k.connamespace = 'public'::regnamespace order by 1, 2, 3`;

/** Creates the database of `app`, which must not exist yet on the server, and returns its diagram. */
export async function drawSchemaOf(app: AppName, serverUrl: string): Promise<string> {
  await queryOnce(serverUrl, `create database ${app}`);
  const url = Object.assign(new URL(serverUrl), { pathname: app }).href;
  await migrate({ url, directory: join(root, 'apps', app, 'migrations') });
  return drawDatabase(url);
}

/** Returns the page with the code block after the mark `<!-- APP -->` replaced by the diagram. */
export const replaceDiagram = (page: string, app: AppName, diagram: string): string =>
  page.replace(
    new RegExp(`(<!-- ${app} -->\\n\`\`\`mermaid\\n)[\\s\\S]*?(\\n\`\`\`)`),
    (_, start, end) => start + diagram + end,
  );

async function drawDatabase(url: string): Promise<string> {
  const { rows }: { rows: ForeignKey[] } = await queryOnce(url, foreignKeysOf);
  // In Mermaid, `||--o{` means that any number of rows of the child table refer to one row of the parent table.
  const relations = rows.map(({ child, parent, columns }) => `  ${parent} ||--o{ ${child} : "${columns}"`);
  return ['erDiagram', ...relations].join('\n');
}
