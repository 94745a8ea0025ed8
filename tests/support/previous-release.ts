// Checks out the code of the previous release from the git history: the last tag, or before the first tag the commit
// that last changed the schema of version 1.0.0. The code uses the npm packages that are installed for this release.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

const baseline = 'apps/bookings/migrations/0001_schema.sql';

export interface PreviousRelease {
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

/** Returns undefined if there is no tag and no commit has the schema of version 1.0.0 as it is in this folder. */
export async function checkOutPreviousRelease(): Promise<PreviousRelease | undefined> {
  const git = (...parameters: string[]) => run('git', parameters, { cwd: root });
  // A tag of the commit itself is this release.
  const tag = await git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^').then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
  const commit = tag ?? (await git('log', '-1', '--format=%H', '--', baseline).catch(() => undefined))?.stdout.trim();
  if (!commit) return undefined;
  // After the first tag, nobody may edit the schema, so the test must run and fail.
  const isRelease =
    tag !== undefined ||
    (await git('diff', '--quiet', commit, '--', baseline).then(
      () => true,
      () => false,
    ));
  if (!isRelease) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-previous-'));
  await git('archive', commit, '--output', join(folder, 'source.tar'));
  await run('tar', ['-xf', 'source.tar'], { cwd: folder });
  // The packages @bay-booking/… are links to the workspaces of the previous release. All other packages are links to
  // the installed packages.
  const modules = join(root, 'node_modules');
  await mkdir(join(folder, 'node_modules/@bay-booking'), { recursive: true });
  for (const name of await readdir(modules))
    if (name !== '@bay-booking') await symlink(join(modules, name), join(folder, 'node_modules', name));
  for (const parent of ['packages', 'apps'])
    for (const name of await readdir(join(folder, parent))) {
      await symlink(join(folder, parent, name), join(folder, 'node_modules/@bay-booking', name));
      // npm installs a package here if another workspace needs another version of it.
      const ownModules = join(root, parent, name, 'node_modules');
      if (existsSync(ownModules)) await symlink(ownModules, join(folder, parent, name, 'node_modules'));
    }
  return { folder, remove: () => rm(folder, { recursive: true }) };
}
