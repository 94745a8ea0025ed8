// What happens when somebody else, who keeps no order, locks bays against us? The deadlock is lost, counted and tried again, and no client sees it.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { nextBooking } from './support/booking-load.ts';
import { getToken, startTestSystem, type TestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await startTestSystem();
  // Time enough on a busy machine: for those who take part to be where they belong when the service looks, and for its limits.
  for (const setting of ["deadlock_timeout = '2s'", 'lock_timeout = 0', 'statement_timeout = 0'])
    await system.database.query('postgres', `alter role bookings_service set ${setting}`);
}, 90_000);
afterAll(() => system?.stop(), 60_000);

const lost = /^database_errors_total.*"40P01"/;

const lock = (client: pg.Client, bay: string) => client.query('select from bay where id = $1 for update', [bay]);

const waiting = (count: number) =>
  eventually(async () => {
    const sql = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = 'bookings'";
    return (await system.database.query('bookings', sql)).rowCount === count;
  });

test('an update that loses a deadlock is made all the same, and both metrics show it', async () => {
  const token = await getToken((await system.startAuth()).base);
  const bookings = await system.startBookings();
  const { startDate, endDate } = nextBooking();
  const ask = (method: string, path: string, bayId: string) =>
    fetch(`${bookings.base}/api/bookings${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ bayId, userAlias: 'load', startDate, endDate }),
      signal: AbortSignal.timeout(20_000),
    });
  const { id } = (await (await ask('POST', '', 'bay-n2-02')).json()) as { id: string };

  const open = async () => {
    const client = new pg.Client({ connectionString: system.database.ownerUrlOf('bookings') });
    await client.connect();
    await client.query("begin; set local deadlock_timeout = '1min'");
    return client;
  };
  const [first, other] = await Promise.all([open(), open()]);
  try {
    const [{ pid }] = (await other.query('select pg_backend_pid() as pid')).rows as [{ pid: number }];
    await lock(first, 'bay-n2-02');
    await lock(other, 'bay-n2-03');
    const moved = ask('PUT', `/${id}`, 'bay-n2-03');
    await waiting(1);
    const locked = lock(other, 'bay-n2-02').catch(() => {});
    await waiting(2);
    // Now the service gets its first bay and waits for the second one: it alone looks for a deadlock, which is there from the start.
    await first.query('rollback');
    await eventually(async () => (await bookings.metric(lost)) === 1);
    // Either may be the first to have the bay again, and then the service would lose once more.
    await system.database.query('bookings', 'select pg_cancel_backend($1)', [pid]);
    await locked;
    await other.query('rollback');
    const response = await moved;
    expect(response.status).toBe(200);
  } finally {
    await Promise.all([first.end(), other.end()]);
  }
  expect(await bookings.metric(lost)).toBe(1);
  expect(await bookings.metric(/^database_retries_total/)).toBe(1);
}, 60_000);
