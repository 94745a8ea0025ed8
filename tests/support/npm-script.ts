// Runs an npm script of this workspace.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The variables stop Redocly from sending telemetry and looking for updates, and remove the options of Node that only
 * Jest needs.
 */
export const runScript = (...args: readonly string[]) =>
  promisify(execFile)('npm', ['run', '--silent', ...args], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, NODE_OPTIONS: '', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    timeout: 60_000,
  });
