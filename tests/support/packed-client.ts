// Packs packages/client as npm would publish it, and installs the tarball into an empty folder.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
/** All direct and indirect dependencies of the client. They are also packed, so that npm can install them offline. */
const dependencies = ['oauth4webapi', 'standardwebhooks', '@stablelib/base64', 'fast-sha256'];

export type InstalledClient = Awaited<ReturnType<typeof installPackedClient>>;

export async function installPackedClient() {
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-client-'));
  // The NODE_OPTIONS of the tests must not affect npm.
  const npm = async (...args: string[]) =>
    (await run('npm', args, { cwd: root, env: { ...process.env, NODE_OPTIONS: '' }, timeout: 120_000 })).stdout;
  const packages = [join(root, 'packages/client'), ...dependencies.map((name) => join(root, 'node_modules', name))];
  await npm('pack', ...packages, '--pack-destination', folder, '--silent');
  const tarballs = (await readdir(folder)).map((file) => join(folder, file));
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await npm('install', '--prefix', folder, '--offline', '--no-audit', '--no-fund', ...tarballs);
  const installed = join(folder, 'node_modules/@bay-booking/client');
  const files = await readdir(installed, { recursive: true, withFileTypes: true });
  return {
    folder,
    /** The paths of all files in the installed package. */
    files: files
      .filter((file) => file.isFile())
      .map((file) => join(file.parentPath, file.name).slice(installed.length + 1)),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
