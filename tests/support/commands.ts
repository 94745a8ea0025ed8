// Runs the commands of the apps, such as migrate and import, as processes.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** The KEY_ENCRYPTION_KEY of all instances and commands of auth. */
export const keyEncryptionKey = Buffer.alloc(32, 1).toString('base64');

/** The environment of every instance and command. NODE_COMPILE_CACHE makes a start twice as fast. */
export const nodeEnvironment = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };

export type AppName = 'auth' | 'bookings';

export const readDemo = async (app: AppName): Promise<string> =>
  (await readFile(join(root, `packages/local/demo/${app}.json`), 'utf8'))
    .replaceAll('{scope_base}', 'https://bay-booking.example')
    .replaceAll('{bookings_url}', 'http://localhost:4001');

/**
 * Runs `src/commands/<file>` of an app and returns its standard output. The command gets `input` on its standard input.
 * If there is an `input`, the default argument is `-`, with which an import reads its standard input. `release` is the
 * folder of another release. Default: this repository.
 * @throws {Error} with the output when the exit code is not 0 or the command runs longer than a minute
 */
export async function runCommand(
  app: AppName,
  environment: Record<string, string>,
  file: string,
  input = '',
  args: readonly string[] = input ? ['-'] : [],
  release = root,
): Promise<string> {
  const running = run(process.execPath, [`src/commands/${file}`, ...args], {
    cwd: join(release, 'apps', app),
    env: { ...nodeEnvironment, KEY_ENCRYPTION_KEY: keyEncryptionKey, ...environment },
    timeout: 60_000,
  });
  running.child.stdin?.end(input);
  return (await running).stdout;
}
