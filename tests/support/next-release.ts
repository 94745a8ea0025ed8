// Simulates the next release of bookings, which only adds to the schema.
import { cp, mkdtempDisposable, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@bay-booking/service/database/migrate';
import { root } from '@bay-booking/testkit/repository';

/** Applies the migration of the next release to the database at the URL. Returns the versions that were applied. */
export async function applyNextRelease(url: string): Promise<readonly number[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bay-booking-next-release-'));
  await cp(join(root, 'apps/bookings/migrations'), folder.path, { recursive: true });
  const number = String((await readdir(folder.path)).length + 1).padStart(4, '0');
  await writeFile(
    join(folder.path, `${number}_expand_with_a_note.sql`),
    'alter table booking add column note text; create table note (id int primary key);',
  );
  return await migrate({ url, directory: folder.path });
}
