// Tests that a lost database server can be restored as docs/operations/back-up.md describes: from a base backup that
// was made under load, and from the archived write-ahead log (WAL). The test restores the server twice: to the end of
// the archive, and to a point in time. FAULT_REPORT=1 prints the durations.
import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { read } from '@bay-booking/testkit/repository';
import { eventually } from '@bay-booking/testkit/wait';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  book,
  bookingWithExternalId,
  type Load,
  nextBooking,
  startLoad,
  waitForBookings,
} from './support/booking-load.ts';
import { keyEncryptionKey, runCommand } from './support/commands.ts';
import type { DatabaseServer } from './support/database-server.ts';
import type { Instance } from './support/instance.ts';
import { recordMeasurement, timed } from './support/measurements.ts';
import { getToken, startTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
let auth: Instance;
let bookings: Instance;
/** The folder with the archive and the base backups. */
let folder: string;
/** The folder with the archived segments of the write-ahead log. */
let archive: string;
let restored: EmbeddedPostgres | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bay-booking-backup-'));
  // The user that runs PostgreSQL must be able to enter the folder and to write to the archive.
  await chmod(folder, 0o755);
  archive = join(folder, 'wal');
  await mkdir(archive);
  await chmod(archive, 0o777);
  system = await startTestSystem({
    archive_mode: 'on',
    archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
  });
  auth = await system.startAuth();
  bookings = await system.startBookings();
});
afterAll(async () => {
  await restored?.stop();
  await system?.close();
  await rm(folder, { recursive: true, force: true });
});

const query = (sql: string, values: unknown[] = []) => system.database.query('bookings', sql, values);
const storedIds = async (): Promise<ReadonlySet<string>> =>
  new Set((await query('select external_booking_id as id from booking')).rows.map(({ id }) => id));

/**
 * Folders that are copied without their contents. `pg_wal` contains the write-ahead log, which the server on the copy
 * gets by streaming or from the archive. The contents of the other folders are only for the server that is copied.
 */
const emptyFolders = ['pg_wal', 'pg_replslot', 'pg_stat_tmp', 'pg_notify'];
const excludedFiles = new Set([...emptyFolders, 'postmaster.pid', 'postmaster.opts']);

/**
 * Copies the files of `database` to the folder `target`. The files change while they are copied. Before a server can
 * use the copy, PostgreSQL makes the copy consistent by replaying the write-ahead log (WAL).
 */
async function baseBackup(database: DatabaseServer, target: string): Promise<void> {
  const session = new pg.Client({ connectionString: database.ownerUrlOf('bookings') });
  await session.connect();
  try {
    // With `true`, the backup begins with an immediate checkpoint. Otherwise it could take minutes.
    await session.query("select pg_backup_start('base', true)");
    await mkdir(target, { mode: 0o700 });
    for (const name of await readdir(database.dataPath)) {
      if (!excludedFiles.has(name))
        await promisify(execFile)('cp', ['-a', join(database.dataPath, name), target]).catch(throwUnlessVanished);
    }
    // With `false`, PostgreSQL does not wait until it has archived the write-ahead log.
    const { rows } = await session.query('select labelfile from pg_backup_stop(false)');
    await writeFile(join(target, 'backup_label'), rows[0].labelfile);
  } finally {
    await session.end();
  }
  // This empty file makes PostgreSQL recover from the archive.
  await writeFile(join(target, 'recovery.signal'), '');
  const owner = await stat(database.dataPath);
  for (const name of emptyFolders) await mkdir(join(target, name));
  // The name '' stands for the folder `target` itself.
  for (const name of ['', 'backup_label', 'recovery.signal', ...emptyFolders])
    await chown(join(target, name), owner.uid, owner.gid);
}

/** PostgreSQL may delete a file while the folder is copied. The write-ahead log has what the copy needs. */
function throwUnlessVanished(error: Error & { readonly stderr?: string }): void {
  const lines = error.stderr?.trim().split('\n') ?? [''];
  if (!lines.every((line) => line.endsWith(': No such file or directory'))) throw error;
}

/** Returns the SQL block that follows this heading in docs/operations/back-up.md. */
function documentedSql(heading: string): string {
  const page = read('docs/operations/back-up.md');
  const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(page.slice(page.indexOf(heading))) ?? [];
  return sql;
}

async function requestTokens(form: Record<string, string>) {
  const body = new URLSearchParams({ client_id: 'demo-native', ...form });
  const response = await fetch(`${auth.base}/connect/token`, { method: 'POST', body });
  return { status: response.status, ...((await response.json()) as { refresh_token: string; error?: string }) };
}
const signIn = () =>
  requestTokens({
    grant_type: 'password',
    username: 'player@example.com',
    password: 'demo-player-pass',
    scope: 'offline_access https://bay-booking.example/dr/play',
  });
const refresh = (token: string) => requestTokens({ grant_type: 'refresh_token', refresh_token: token });

/** Returns the header of a JWT, which names the signing key. */
const headerOf = (token: string) => token.split('.')[0];

/** Rotates the signing keys, and returns the first token that auth signs with the new key. */
async function rotateKeys(oldToken: string): Promise<string> {
  const environment = { DATABASE_URL: system.database.urlOf('auth'), KEY_ENCRYPTION_KEY: keyEncryptionKey };
  const standardInput = '';
  await runCommand('auth', environment, 'signing-keys.ts', standardInput, ['rotate', '--now']);
  return eventually(async () => {
    const token = await getToken(auth.base);
    return headerOf(token) !== headerOf(oldToken) && token;
  });
}

/**
 * Starts a server on the base backup `name`, at the port of the lost server. Waits until the server has replayed the
 * archived WAL up to the recovery target in `target`. Returns the duration in milliseconds.
 */
const restore = (name: string, target: Record<string, string>): Promise<number> =>
  timed(async () => {
    restored = await startEmbeddedPostgres({
      dataDir: join(folder, name),
      port: system.database.port,
      // Makes the test faster. Only a crash of this machine could damage the restored database.
      fsync: false,
      settings: { restore_command: `cp ${archive}/%f %p`, recovery_target_action: 'promote', ...target },
    });
    await eventually(async () => (await query('select pg_is_in_recovery() as on')).rows[0].on === false);
  });

/**
 * Waits until all bookings so far are archived, and stores one more booking that is not archived. Then deletes the
 * server with its disk. Returns the booking that is not archived.
 */
async function loseServer(token: string) {
  const segment = (await query('select pg_walfile_name(pg_switch_wal()) as name')).rows[0].name;
  await eventually(async () => (await readdir(archive)).includes(segment));
  const unarchived = nextBooking();
  expect(await book(bookings.base, token, unarchived)).toMatchObject({ status: 201 });
  await system.database.kill();
  // The child processes of the killed server end shortly afterwards. Until then, they may still write files.
  await rm(system.database.dataPath, { recursive: true, maxRetries: 20, retryDelay: 100 });
  return unarchived;
}

/** Expects that the running services connect to the restored server by themselves, and that no migration is missing. */
async function expectServicesToRecover(): Promise<void> {
  await eventually(async () => (await bookings.isReady()) && (await auth.isReady()));
  for (const app of ['auth', 'bookings'] as const) {
    const output = await runCommand(app, { DATABASE_URL: system.database.ownerUrlOf(app) }, 'migrate.ts');
    expect(output).toBe('the schema is up to date\n');
  }
}

/** Sends all bookings again. Expects that stored bookings are rejected as duplicates, and lost bookings are created. */
async function expectLostBookingsCreated(token: string, ids: readonly string[], stored: ReadonlySet<string>) {
  const sendAgain = async (id: string) => {
    const response = await book(bookings.base, token, bookingWithExternalId(id));
    if (stored.has(id)) expect(response).toMatchObject({ status: 400, codes: expect.arrayContaining(['BOOK00001']) });
    else expect(response.status).toBe(201);
  };
  // Eight requests at a time.
  for (let start = 0; start < ids.length; start += 8) await Promise.all(ids.slice(start, start + 8).map(sendAgain));
  expect((await storedIds()).size).toBe(new Set([...ids, ...stored]).size);
}

/**
 * Expects that a refresh token does not work if it was used after the point in time to which the database is restored.
 * In the restored database, the token is unused. The operator therefore runs the documented statement, which revokes
 * the grant of the token.
 */
async function expectUsedTokenRevoked(refreshToken: string): Promise<void> {
  const unusedTokens = "select from oidc_artifact where model = 'RefreshToken' and consumed_at is null";
  expect((await system.database.query('auth', unusedTokens)).rowCount).toBe(1);
  await system.database.query('auth', documentedSql('### Auth after a restore to a point in time'));
  expect(await refresh(refreshToken)).toMatchObject({ status: 400, error: 'invalid_grant' });
  expect((await refresh((await signIn()).refresh_token)).status).toBe(200);
}

/**
 * Expects that a token is rejected if its signing key is lost. The key was created after the point in time to which the
 * database is restored.
 */
async function expectLostKeyRejected(oldToken: string, tokenOfLostKey: string): Promise<void> {
  await eventually(async () => headerOf(await getToken(auth.base)) === headerOf(oldToken));
  const newInstance = await system.startBookings();
  const statusWith = async (token: string) => (await book(newInstance.base, token, nextBooking())).status;
  expect(await statusWith(tokenOfLostKey)).toBe(401);
  expect(await statusWith(oldToken)).toBe(201);
  expect(await statusWith(await getToken(auth.base))).toBe(201);
}

/** Reads the change feed from an address to its end. Returns its status, its items and the address of the next page. */
async function readFeed(token: string, address: string) {
  const numbers: number[] = [];
  for (let next = address; ; ) {
    // The links have the public address, which leads nowhere here.
    const path = next.slice(next.indexOf('/api/'));
    const response = await fetch(bookings.base + path, { headers: { Authorization: `Bearer ${token}` } });
    const page = (await response.json()) as { items: { modified: number }[]; next: string };
    if (response.status !== 200 || page.items.length === 0) return { status: response.status, numbers, next };
    numbers.push(...page.items.map(({ modified }) => modified));
    next = page.next;
  }
}

/** Expects a 410 for a reader that has read further than the restored log, and then numbers above all earlier ones. */
async function expectFeedContinues(token: string, before: { readonly numbers: number[]; readonly next: string }) {
  expect((await readFeed(token, before.next)).status).toBe(410);
  const again = await readFeed(token, '/api/booking-changes');
  expect(again).toMatchObject({ status: 200 });
  const { status } = await book(bookings.base, token, nextBooking());
  expect(status).toBe(201);
  const { numbers } = await readFeed(token, again.next);
  expect(numbers).toHaveLength(1);
  expect(numbers[0]).toBeGreaterThan(Math.max(...before.numbers));
}

/** Makes two base backups while the load creates bookings. Returns the duration of the first backup in milliseconds. */
async function backUpUnderLoad(load: Load): Promise<number> {
  await waitForBookings(load, 50);
  const bookingsBefore = load.acknowledged.size;
  const duration = await timed(() => baseBackup(system.database, join(folder, 'first')));
  await baseBackup(system.database, join(folder, 'second'));
  expect(load.acknowledged.size).toBeGreaterThan(bookingsBefore);
  return duration;
}

test('a server that was lost with its disk is restored to the end of its archive and to a point in time', async () => {
  const token = await getToken(auth.base);
  const load = startLoad([bookings.base], token, { workers: 4 });
  const backup = await backUpUnderLoad(load);
  await waitForBookings(load, 60);
  const { status, refresh_token: refreshToken } = await signIn();
  expect(status).toBe(200);

  const beforePoint = new Set(load.acknowledged);
  const point = (await query('select clock_timestamp()::text as now')).rows[0].now;
  // Each of the four workers may have one request in progress.
  const maxAtPoint = load.acknowledged.size + 4;
  await waitForBookings(load, 60);
  expect((await refresh(refreshToken)).status).toBe(200);
  const tokenOfNewKey = await rotateKeys(token);
  await load.stop();
  const all = [...load.acknowledged];
  const feed = await readFeed(token, '/api/booking-changes');
  expect(feed.numbers.length).toBeGreaterThanOrEqual(all.length);
  const unarchived = await loseServer(token);

  const toTheEnd = await restore('first', {});
  const storedAtEnd = await storedIds();
  expect(all.filter((id) => !storedAtEnd.has(id))).toEqual([]);
  expect(storedAtEnd.has(unarchived.externalBookingId)).toBe(false);
  await restored?.stop();

  const toThePoint = await restore('second', { recovery_target_time: point });
  const storedAtPoint = await storedIds();
  expect([...beforePoint].filter((id) => !storedAtPoint.has(id))).toEqual([]);
  expect(storedAtPoint.size).toBeLessThanOrEqual(maxAtPoint);
  expect(maxAtPoint).toBeLessThan(all.length);
  recordMeasurement('backup and restore', { bookings: all.length, backup, toTheEnd, toThePoint });

  await expectServicesToRecover();
  await expectLostBookingsCreated(token, all, storedAtPoint);
  const { externalBookingId: _, ...takenSlot } = bookingWithExternalId(all[0] as string);
  expect(await book(bookings.base, token, takenSlot)).toMatchObject({ status: 400, codes: ['BOOK00002'] });
  await expectFeedContinues(token, feed);
  await expectUsedTokenRevoked(refreshToken);
  await expectLostKeyRejected(token, tokenOfNewKey);
});
