// Tests a deadlock between the service and another program that locks bays in another order. The service counts the
// deadlock and repeats the transaction, so the client gets its normal response.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { nextBooking } from './support/booking-load.ts';
import { getToken, startTestSystem, type TestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await startTestSystem();
  // On a busy machine, the other sessions need time to take their locks before the service checks for a deadlock or
  // times out.
  for (const setting of ["deadlock_timeout = '2s'", 'lock_timeout = 0', 'statement_timeout = 0'])
    await system.database.query('postgres', `alter role bookings_service set ${setting}`);
}, 90_000);
afterAll(() => system?.stop(), 60_000);

const deadlocks = /^database_errors_total.*"40P01"/;

const lock = (client: pg.Client, bay: string) => client.query('select from bay where id = $1 for update', [bay]);

const untilSessionsWait = (count: number) =>
  eventually(async () => {
    const sql = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = 'bookings'";
    return (await system.database.query('bookings', sql)).rowCount === count;
  });

test('an update succeeds after a deadlock, and the metrics count the deadlock and the retry', async () => {
  const token = await getToken((await system.startAuth()).base);
  const bookings = await system.startBookings();
  const { startDate, endDate } = nextBooking();
  const send = (method: string, path: string, bayId: string) =>
    fetch(`${bookings.base}/api/bookings${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ bayId, userAlias: 'load', startDate, endDate }),
      signal: AbortSignal.timeout(20_000),
    });
  const { id } = (await (await send('POST', '', 'bay-n2-02')).json()) as { id: string };

  const beginTransaction = async () => {
    const client = new pg.Client({ connectionString: system.database.ownerUrlOf('bookings') });
    await client.connect();
    await client.query("begin; set local deadlock_timeout = '1min'");
    return client;
  };
  const [first, other] = await Promise.all([beginTransaction(), beginTransaction()]);
  try {
    const [{ pid }] = (await other.query('select pg_backend_pid() as pid')).rows as [{ pid: number }];
    await lock(first, 'bay-n2-02');
    await lock(other, 'bay-n2-03');
    const moving = send('PUT', `/${id}`, 'bay-n2-03');
    await untilSessionsWait(1);
    const locking = lock(other, 'bay-n2-02').catch(() => {});
    await untilSessionsWait(2);
    // The service now locks its first bay and waits for the second bay, which completes the deadlock. Only the service
    // has a short deadlock_timeout, so PostgreSQL cancels the transaction of the service.
    await first.query('rollback');
    await eventually(async () => (await bookings.metric(deadlocks)) === 1);
    // If the other session got the bay first, the retry of the service would end in a second deadlock.
    await system.database.query('bookings', 'select pg_cancel_backend($1)', [pid]);
    await locking;
    await other.query('rollback');
    const response = await moving;
    expect(response.status).toBe(200);
  } finally {
    await Promise.all([first.end(), other.end()]);
  }
  expect(await bookings.metric(deadlocks)).toBe(1);
  expect(await bookings.metric(/^database_retries_total/)).toBe(1);
}, 60_000);
