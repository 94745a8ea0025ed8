// Generates the entity-relationship diagrams in docs/database.md, in the language Mermaid. Runs the migrations of a
// service in an empty database, and reads the tables from the catalogue of PostgreSQL.
import { join } from 'node:path';
import { migrate } from '@bay-booking/service/database/migrate';
import pg from 'pg';
import type { AppName } from './commands.ts';
import { queryOnce } from './database-server.ts';

const root = join(import.meta.dirname, '../..');

export const databasePage = join(root, 'docs/database.md');

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly isPrimaryKey: boolean;
}

interface ForeignKey {
  readonly child: string;
  readonly parent: string;
  /** The names of the columns in the child table, separated by commas. */
  readonly columns: string;
}

/** The diagrams leave out these tables, which are for migrations and locks and not part of the data model. */
const excludedTables = ['schema_migration', 'import_lock'];

/** Selects the columns of all tables except those in $1. System columns have a negative `attnum`. */
const columnsOf = `select c.relname as table, a.attname as name, format_type(a.atttypid, null) as type,
    a.attnotnull as "isRequired", coalesce(a.attnum = any (k.conkey), false) as "isPrimaryKey"
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> all ($1)
  order by c.relname, a.attnum`;

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
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    const columns = (await client.query<Column>(columnsOf, [excludedTables])).rows;
    const foreignKeys = (await client.query<ForeignKey>(foreignKeysOf)).rows;
    const tables = [...Map.groupBy(columns, (column) => column.table)].flatMap(([table, columnsOfTable]) => [
      `  ${table} {`,
      ...columnsOfTable.map(
        ({ name, type, isRequired, isPrimaryKey }) =>
          `    ${wordOf(type)} ${name}${isPrimaryKey ? ' PK' : ''}${isRequired ? '' : ' "optional"'}`,
      ),
      '  }',
    ]);
    // In Mermaid, `||--o{` means that any number of rows of the child table refer to one row of the parent table.
    const relations = foreignKeys.map(({ child, parent, columns }) => `  ${parent} ||--o{ ${child} : "${columns}"`);
    return ['erDiagram', ...tables, ...relations].join('\n');
  } finally {
    await client.end();
  }
}

/** Returns the name of a type as one word, because Mermaid accepts no spaces in the name of a type. */
function wordOf(type: string): string {
  return type
    .replace('timestamp with time zone', 'timestamptz')
    .replace('character varying', 'varchar')
    .replaceAll(' ', '_');
}
