// Tests both services behind PgBouncer in transaction mode, in which several instances share a few database
// connections. The services' DATABASE_URL has `prepared=false`, because PgBouncer before version 1.21 does not support
// prepared statements in this mode. Debian 12 has version 1.18.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@bay-booking/postgres/ports';
import { findPgBouncer } from '@bay-booking/testkit/programs';
import { eventually } from '@bay-booking/testkit/wait';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { callApi } from './support/api.ts';
import { expectAvailabilityAndHolds, expectChanges } from './support/availability-and-changes.ts';
import { book, startLoad, waitForBookings } from './support/booking-load.ts';
import { rolePassword } from './support/database-server.ts';
import type { Instance } from './support/instance.ts';
import {
  getToken,
  startTestSystem,
  stopLoadAndExpectNoLostOrDoubleBookings,
  type TestSystem,
} from './support/test-system.ts';
import { webhookEnvironment } from './support/webhook-receiver.ts';

/** The maximum number of connections from PgBouncer to each database. */
const serverConnections = 4;

type Pooler = Awaited<ReturnType<typeof startPooler>>;

async function startPooler(databasePort: number) {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-pooler-'));
  // PgBouncer runs as another user (see below), who must be able to read the folder.
  await chmod(folder, 0o755);
  const entry = (app: string) =>
    `${app} = host=127.0.0.1 port=${databasePort} user=${app}_service password=${rolePassword}`;
  // `auth_type = any` accepts every user name and requires no password.
  const settings = [
    `[databases]\n${entry('auth')}\n${entry('bookings')}\n[pgbouncer]`,
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = any\npool_mode = transaction\ndefault_pool_size = ${serverConnections}\nmax_client_conn = 200`,
  ];
  await writeFile(join(folder, 'pgbouncer.ini'), settings.join('\n'));
  // PgBouncer refuses to run as root. 65534 is the user `nobody`.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  // The path is never undefined, because the callers skip their tests if PgBouncer is not installed.
  const child = spawn(findPgBouncer() as string, ['-q', join(folder, 'pgbouncer.ini')], {
    stdio: 'ignore',
    ...account,
  });
  // Waits until PgBouncer accepts connections.
  await eventually(async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } finally {
      socket.destroy();
    }
  });
  return {
    /** Returns the URL with which a service connects to its database through the pooler. */
    urlOf: (app: 'auth' | 'bookings') => `postgres://anyone@127.0.0.1:${port}/${app}`,
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGINT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The limit is so high that no request of these tests reaches it. */
const rateLimitPerMinute = 100_000;

const hasPgBouncer = findPgBouncer() !== undefined;
if (!hasPgBouncer) process.stderr.write('The tests of PgBouncer are skipped: this machine does not have it\n');
(hasPgBouncer ? describe : describe.skip)('both services behind PgBouncer in transaction mode', () => {
  let system: TestSystem;
  let pooler: Pooler;
  let auth: Instance;
  let instances: readonly Instance[];

  beforeAll(async () => {
    system = await startTestSystem();
    pooler = await startPooler(system.database.port);
    auth = await system.startAuth({ DATABASE_URL: `${pooler.urlOf('auth')}?prepared=false` });
    const environment = {
      DATABASE_URL: `${pooler.urlOf('bookings')}?prepared=false`,
      ...webhookEnvironment,
      RATE_LIMIT_PER_MINUTE: String(rateLimitPerMinute),
    };
    instances = await Promise.all([1, 2].map(() => system.startBookings(environment)));
  });
  afterAll(async () => {
    await pooler?.stop();
    await system?.close();
  });

  test('two instances use at most four connections under load, and no booking is lost or stored twice', async () => {
    const load = startLoad(
      instances.map(({ base }) => base),
      await getToken(auth.base),
      { workers: 16 },
    );
    let maxConnections = 0;
    for (let round = 0; round < 3; round += 1) {
      await waitForBookings(load, 60);
      const sql = "select count(*)::int as count from pg_stat_activity where usename = 'bookings_service'";
      maxConnections = Math.max(maxConnections, (await system.database.query('bookings', sql)).rows[0].count);
    }
    await stopLoadAndExpectNoLostOrDoubleBookings(system.database, load);
    expect(Object.keys(load.statuses())).toEqual(['201']);
    expect(maxConnections).toBeGreaterThan(1);
    // PgBouncer opens at most four connections (`serverConnections`) to each database.
    expect(maxConnections).toBeLessThanOrEqual(serverConnections);
  });

  test('lists, searches, the rate limit, the password grant and the refresh grant work', async () => {
    const token = await getToken(auth.base);
    const [{ base }] = instances as [Instance];
    // Every list below contains this booking. The load of the test above ends long before 2050.
    const times = { startDate: '2050-01-01T10:00:00Z', endDate: '2050-01-01T11:00:00Z' };
    const booking = { bayId: 'bay-n1-01', userAlias: 'listed', ...times };
    expect(await book(base, token, booking)).toMatchObject({ status: 201 });
    for (const path of [
      '/api/bookings?pageSize=5',
      '/api/bookings?userAlias=listed',
      '/api/bookings?locationIds=loc-north-1&startDate=2050-01-01T00:00:00Z&endDate=2050-01-02T00:00:00Z',
      '/api/booking-bays',
      '/api/bays/bay-n1-01/upcoming-bookings',
    ]) {
      const { status, headers, body } = await callApi<{ total: number }>(base, token, 'GET', path);
      expect(status).toBe(200);
      expect(Number(headers.get('RateLimit-Remaining'))).toBeLessThan(rateLimitPerMinute);
      expect(body.total).toBeGreaterThan(0);
    }
    const requestTokens = async (form: Record<string, string>) => {
      const body = new URLSearchParams({ client_id: 'demo-native', ...form });
      const response = await fetch(`${auth.base}/connect/token`, { method: 'POST', body });
      expect(response.status).toBe(200);
      return (await response.json()) as { refresh_token: string };
    };
    const { refresh_token } = await requestTokens({
      grant_type: 'password',
      username: 'player@example.com',
      password: 'demo-player-pass',
      scope: 'offline_access https://bay-booking.example/dr/play',
    });
    await requestTokens({ grant_type: 'refresh_token', refresh_token });
  });

  test('an instance shows holds, closures and changes of another instance in its next response', async () => {
    const [writer, reader] = instances.map(({ base }) => base) as [string, string];
    const token = await getToken(auth.base);
    await expectAvailabilityAndHolds({ writer, reader, token });
    await expectChanges({ writer, reader, token });
  });
});
