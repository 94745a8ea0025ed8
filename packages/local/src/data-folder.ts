// Creates the folder DATA_DIR with the secrets that the first start generates and the environment of commands.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** @throws {Error} if the folder cannot be used */
export function prepareDataFolder(folder: string): void {
  try {
    // `mkdirSync` with `recursive` never returns for a path below /proc, where no folder can be created.
    execFileSync('mkdir', ['-p', folder], { encoding: 'utf8', stdio: 'pipe' });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { message, stderr = message } = error as Error & { readonly stderr?: string };
    throw new Error(`DATA_DIR ${folder} cannot be used by user ${process.getuid?.()}: ${stderr.trim()}`);
  }
  // If root runs the launcher, PostgreSQL runs as another user and must be able to enter the folder. Files with secrets
  // have mode 0600.
  if (process.getuid?.() === 0 && readdirSync(folder).length === 0) chmodSync(folder, 0o711);
}

/**
 * Writes a file that only its owner can read and returns its path. If root writes the file, the folder's owner becomes
 * the file's owner.
 */
export function writePrivately(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  const { uid, gid } = statSync(folder);
  if (process.getuid?.() === 0) chownSync(draft, uid, gid);
  renameSync(draft, path);
  return path;
}

/** The variables that the commands of the services read, such as `npm run import`. */
const commandVariables = ['DATABASE_URL', 'ISSUER', 'SCOPE_BASE', 'KEY_ENCRYPTION_KEY', 'OUTBOUND_ALLOW_NETWORKS'];

/** Writes a file that sets the environment of a service's commands in a shell. */
export function writeCommandEnvironment(folder: string, name: string, environment: NodeJS.ProcessEnv): void {
  const assignments = commandVariables.flatMap((variable) => {
    const value = environment[variable];
    return value === undefined ? [] : `${variable}='${value.replaceAll("'", "'\\''")}'\n`;
  });
  writePrivately(folder, name, assignments.join(''));
}

export interface Secrets {
  cookieKeys: string;
  keyEncryptionKey: string;
  webhookKey: string;
  passwords: Record<string, string>;
}

/** Reads the secrets. Generates and stores missing secrets. */
export function readSecrets(folder: string, roles: readonly string[]): Secrets {
  const path = join(folder, 'secrets.json');
  const stored = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Partial<Secrets>) : {};
  const secrets: Secrets = {
    cookieKeys: randomBytes(32).toString('base64url'),
    keyEncryptionKey: randomBytes(32).toString('base64'),
    webhookKey: randomBytes(32).toString('base64'),
    ...stored,
    passwords: Object.fromEntries(
      roles.map((role) => [role, stored.passwords?.[role] ?? randomBytes(24).toString('base64url')]),
    ),
  };
  writePrivately(folder, 'secrets.json', `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}
