// Implements what the commands `npm run import` and `npm run export` of both services share.
import { isUtf8 } from 'node:buffer';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import { commandArguments } from '@bay-booking/service/lifecycle';
import { exportDocument, type ImportStore, importDocument, RejectedImport } from './import.ts';
import type { Fields } from './record.ts';

/**
 * The npm scripts of both services that run a command. The audit trail names the command or the client that made a
 * change, so no client may have such an id.
 */
export const commandNames: readonly string[] = [
  'delete-account',
  'distribute',
  'export',
  'generate',
  'import',
  'keys',
  'migrate',
  'prune-audit',
  'recount',
  'reset-factors',
];

// npm changes to the directory of the workspace, but FILE is relative to the directory where npm was called.
const directory = (): string => process.env.INIT_CWD ?? process.cwd();

/** Reads the file that the only argument names, or standard input if it is `-`. */
export async function readImportFile(workspace: string): Promise<unknown> {
  const usage = `import -w ${workspace} -- FILE (or - for standard input)`;
  const [file = ''] = commandArguments(usage, { least: 1 });
  const bytes = file === '-' ? await buffer(process.stdin) : await readFile(resolve(directory(), file));
  const source = file === '-' ? 'standard input' : file;
  if (!isUtf8(bytes)) throw new Error(`${source} is not in UTF-8; nothing was imported`);
  try {
    // The decoder removes a byte order mark.
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw importError([atPointer('', 'invalid', `is not valid JSON (${(error as Error).message})`)]);
  }
}

/**
 * Returns how many records of each kind the file has.
 * @throws {Error} whose message has every problem of the file
 */
export async function importFile(store: ImportStore, document: unknown): Promise<string> {
  try {
    const { body } = await importDocument(store, document, { clientId: 'import', dryRun: false }, true);
    const { entries } = body as { readonly entries: readonly { readonly path: string }[] };
    // In `/facilities/0/locations/1`, the name of the collection is before the last index.
    const collections = entries.map(({ path }) => path.split('/').at(-2));
    const counts = store.kinds.map(({ collection }) => {
      const count = collections.filter((name) => name === collection).length;
      return `${count} ${collection}`;
    });
    return counts.join(', ');
  } catch (error) {
    throw error instanceof RejectedImport ? importError(error.problems) : error;
  }
}

function importError(problems: readonly PointerError[]): Error {
  const count = problems.length === 1 ? '1 error' : `${problems.length} errors`;
  const lines = problems.map(({ path, hint }) => `  ${path || '/'}: ${hint || 'is missing'}`);
  return new Error(`Nothing was imported. The file has ${count}:\n${lines.join('\n')}`);
}

/** Writes an import file with everything to `file`, or to standard output (`-`). Only its owner may read the file. */
export async function exportFile(store: ImportStore, file: string | undefined, options: Fields = {}): Promise<void> {
  const { body } = await exportDocument(store, options, { clientId: 'export' });
  const text = `${JSON.stringify(body, null, 2)}\n`;
  if (file === undefined || file === '-') process.stdout.write(text);
  else await writeFile(resolve(directory(), file), text, { mode: 0o600 });
}
