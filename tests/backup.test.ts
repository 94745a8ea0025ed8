// Tests that a lost database server can be restored as docs/operations/back-up.md describes: from a base backup that
// was made under load, and the archived write-ahead log (WAL). Restores once to the end of the archive and once to a
// point in time. FAULT_REPORT=1 prints the durations.
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { book, bookingWithExternalId, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import { runCommand } from './support/commands.ts';
import type { Instance } from './support/instance.ts';
import { baseBackup, writeSignalFile } from './support/replica.ts';
import {
  getToken,
  keyEncryptionKey,
  printMeasurements,
  recordMeasurement,
  startTestSystem,
  type TestSystem,
} from './support/test-system.ts';
import { eventually } from './support/wait.ts';

let folder: string;
let archive: string;
let system: TestSystem;
let auth: Instance;
let bookings: Instance;
let restored: EmbeddedPostgres | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bay-booking-backup-'));
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
}, 90_000);
afterAll(async () => {
  await restored?.stop();
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
  printMeasurements();
}, 60_000);

const query = (sql: string, values: unknown[] = []) => system.database.query('bookings', sql, values);
const bookedIds = async (): Promise<ReadonlySet<string>> =>
  new Set((await query('select external_booking_id as id from booking')).rows.map(({ id }) => id));
/** Returns the SQL block that follows this sentence in docs/operations/back-up.md. */
async function documented(sentence: string): Promise<string> {
  const text = await readFile(join(import.meta.dirname, '../docs/operations/back-up.md'), 'utf8');
  const [, sql] = /```sql\n([\s\S]*?)```/.exec(text.slice(text.indexOf(sentence))) as RegExpExecArray;
  return sql as string;
}

async function tokenRequest(form: Record<string, string>) {
  const body = new URLSearchParams({ client_id: 'demo-native', ...form });
  const response = await fetch(`${auth.base}/connect/token`, { method: 'POST', body });
  return { status: response.status, ...((await response.json()) as { refresh_token: string; error?: string }) };
}
const keyOf = (token: string) => token.split('.')[0];
const signIn = () =>
  tokenRequest({
    grant_type: 'password',
    username: 'player@example.com',
    password: 'demo-player-pass',
    scope: 'offline_access https://bay-booking.example/dr/play',
  });
const refresh = (token: string) => tokenRequest({ grant_type: 'refresh_token', refresh_token: token });

/**
 * Starts a server on the base backup `name`, at the port of the lost server. Waits until the server has replayed the
 * archive, and returns the duration.
 */
async function restore(name: string, target: Record<string, string>): Promise<number> {
  const started = performance.now();
  await writeSignalFile(join(folder, name), 'recovery.signal');
  restored = await startEmbeddedPostgres({
    dataDir: join(folder, name),
    port: system.database.port,
    fsync: false,
    settings: { restore_command: `cp ${archive}/%f %p`, recovery_target_action: 'promote', ...target },
  });
  await eventually(async () => (await query('select pg_is_in_recovery() as on')).rows[0].on === false);
  return Math.round(performance.now() - started);
}

test('a server that was lost with its disk is restored to the end of its archive and to a point in time', async () => {
  const token = await getToken(auth.base);
  const load = startLoad([bookings.base], token, { workers: 4 });
  await waitForBookings(load, 50);
  const from = load.acknowledged.size;
  const backupStarted = performance.now();
  await baseBackup(system.database, join(folder, 'first'));
  const backup = Math.round(performance.now() - backupStarted);
  await baseBackup(system.database, join(folder, 'second'));
  expect(load.acknowledged.size).toBeGreaterThan(from);
  await waitForBookings(load, 200);
  const signedIn = await signIn();
  expect(signedIn.status).toBe(200);

  const before = new Set(load.acknowledged);
  const point = (await query('select clock_timestamp()::text as now')).rows[0].now;
  // Each of the four workers may have one request in progress.
  const maxAtThePoint = load.acknowledged.size + 4;
  await waitForBookings(load, 200);
  expect((await refresh(signedIn.refresh_token)).status).toBe(200);
  const environment = { DATABASE_URL: system.database.urlOf('auth'), KEY_ENCRYPTION_KEY: keyEncryptionKey };
  await runCommand('auth', environment, 'keys.ts', '', ['rotate', '--now']);
  const signedLater = await eventually(async () => {
    const later = await getToken(auth.base);
    return keyOf(later) !== keyOf(token) && later;
  });
  await load.stop();
  const all = new Set(load.acknowledged);

  // A booking that was acknowledged after the last archived segment is lost with the disk.
  const segment = (await query('select pg_walfile_name(pg_switch_wal()) as name')).rows[0].name;
  await eventually(async () => (await readdir(archive)).includes(segment));
  const unarchived = nextBooking();
  expect(await book(bookings.base, token, unarchived)).toMatchObject({ status: 201 });
  await system.database.kill();
  // The other processes of the killed server end shortly afterwards. Until then, they may still write files.
  await rm(system.database.dataPath, { recursive: true, maxRetries: 20, retryDelay: 100 });

  const toTheEnd = await restore('first', {});
  const atTheEnd = await bookedIds();
  expect([...all].filter((id) => !atTheEnd.has(id))).toEqual([]);
  expect(atTheEnd.has(unarchived.externalBookingId)).toBe(false);
  await restored?.stop();

  const toThePoint = await restore('second', { recovery_target_time: point });
  const atThePoint = await bookedIds();
  expect([...before].filter((id) => !atThePoint.has(id))).toEqual([]);
  expect(atThePoint.size).toBeLessThanOrEqual(maxAtThePoint);
  expect(maxAtThePoint).toBeLessThan(all.size);
  recordMeasurement('backup and restore', { bookings: all.size, backup, toTheEnd, toThePoint });

  // The running services connect to the restored server by themselves, and no migration is missing.
  await eventually(async () => (await bookings.isReady()) && (await auth.isReady()));
  for (const app of ['auth', 'bookings'] as const) {
    const output = await runCommand(app, { DATABASE_URL: system.database.ownerUrlOf(app) }, 'migrate.ts');
    expect(output).toBe('the schema is up to date\n');
  }

  // Clients send all their bookings again: existing ones are rejected as duplicates, and lost ones are created again.
  const sendAgain = async (id: string) => {
    const response = await book(bookings.base, token, bookingWithExternalId(id));
    if (atThePoint.has(id))
      expect(response).toMatchObject({ status: 400, codes: expect.arrayContaining(['BOOK00001']) });
    else expect(response.status).toBe(201);
  };
  const ids = [...all];
  while (ids.length > 0) await Promise.all(ids.splice(0, 8).map(sendAgain));
  expect((await bookedIds()).size).toBe(new Set([...all, ...atThePoint]).size);
  const { externalBookingId: _, ...sameSlot } = bookingWithExternalId([...before][0] as string);
  expect(await book(bookings.base, token, sameSlot)).toMatchObject({ status: 400, codes: ['BOOK00002'] });

  // A refresh token that was used after the time of the restore is unused again in the restored database. The operator
  // therefore runs the documented statement, which revokes its grant.
  const unused = "select from oidc_artifact where model = 'RefreshToken' and consumed_at is null";
  expect((await system.database.query('auth', unused)).rowCount).toBe(1);
  await system.database.query('auth', await documented('### Auth after a restore to a point in time'));
  expect(await refresh(signedIn.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  expect((await refresh((await signIn()).refresh_token)).status).toBe(200);

  // A signing key that was created after the point in time is lost, and the tokens that it signed are rejected.
  await eventually(async () => keyOf(await getToken(auth.base)) === keyOf(token));
  const fresh = await system.startBookings();
  expect(await book(fresh.base, signedLater, nextBooking())).toMatchObject({ status: 401 });
  expect(await book(fresh.base, token, nextBooking())).toMatchObject({ status: 201 });
  expect(await book(fresh.base, await getToken(auth.base), nextBooking())).toMatchObject({ status: 201 });
}, 90_000);
