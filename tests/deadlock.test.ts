// Tests a deadlock between the service and another program that locks bays in another order. The service counts the
// deadlock and repeats the transaction, so the client gets its normal response.
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { callApi } from './support/api.ts';
import { nextBooking } from './support/booking-load.ts';
import { getToken, startTestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';

// The system may need more time to start than the default timeout of jest allows, so the timeout is 90 s.
const system = useFixture(startTestSystem, 90_000);
beforeAll(async () => {
  // The sessions of the test need time to take their locks. During this time, PostgreSQL must not look for deadlocks of
  // the service, and must not cancel a statement of the service that waits for a lock.
  for (const setting of ["deadlock_timeout = '2s'", 'lock_timeout = 0', 'statement_timeout = 0'])
    await system.database.query('postgres', `alter role bookings_service set ${setting}`);
});

/** The code 40P01 of PostgreSQL means that a transaction was cancelled because of a deadlock. */
const deadlocks = /^database_errors_total.*"40P01"/;

const lock = (client: pg.Client, bay: string) => client.query('select from bay where id = $1 for update', [bay]);

/** Waits until `count` sessions of the bookings database wait for a lock. */
const waitForBlockedSessions = (count: number) =>
  eventually(async () => {
    const sql = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = 'bookings'";
    return (await system.database.query('bookings', sql)).rowCount === count;
  });

/**
 * Begins a transaction in which PostgreSQL looks for a deadlock later than in a transaction of the service. PostgreSQL
 * therefore aborts the transaction of the service.
 */
async function beginTransaction(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: system.database.ownerUrlOf('bookings') });
  await client.connect();
  await client.query("begin; set local deadlock_timeout = '1min'");
  return client;
}

test('an update succeeds after a deadlock, and the metrics count the deadlock and the retry', async () => {
  const token = await getToken((await system.startAuth()).base);
  const bookings = await system.startBookings();
  const { startDate, endDate } = nextBooking();
  const bookingAt = (bayId: string) => ({ bayId, userAlias: 'load', startDate, endDate });
  const created = await callApi<{ id: string }>(bookings.base, token, 'POST', '/api/bookings', bookingAt('bay-n2-02'));

  const [firstSession, secondSession] = await Promise.all([beginTransaction(), beginTransaction()]);
  try {
    const [{ pid }] = (await secondSession.query('select pg_backend_pid() as pid')).rows as [{ pid: number }];
    // The first session keeps bay-n2-02 until the service and then the second session wait for it.
    await lock(firstSession, 'bay-n2-02');
    await lock(secondSession, 'bay-n2-03');
    const path = `/api/bookings/${created.body.id}`;
    const moving = callApi(bookings.base, token, 'PUT', path, bookingAt('bay-n2-03'));
    await waitForBlockedSessions(1);
    const locking = lock(secondSession, 'bay-n2-02').catch(() => {});
    await waitForBlockedSessions(2);
    // After this rollback, the service locks bay-n2-02 and waits for bay-n2-03. The second session has locked bay-n2-03
    // and waits for bay-n2-02, which is a deadlock. Only the service has a short deadlock_timeout, so PostgreSQL
    // cancels the transaction of the service.
    await firstSession.query('rollback');
    await eventually(async () => (await bookings.metric(deadlocks)) === 1);
    // The service now repeats its transaction. Usually, the second session has locked both bays, and the rollback below
    // releases them. But if the service locked bay-n2-02 first, the second session would still wait for this bay, and a
    // second deadlock would follow. The statement of the second session is therefore cancelled.
    await system.database.query('bookings', 'select pg_cancel_backend($1)', [pid]);
    await locking;
    await secondSession.query('rollback');
    expect((await moving).status).toBe(200);
  } finally {
    await Promise.all([firstSession.end(), secondSession.end()]);
  }
  expect(await bookings.metric(deadlocks)).toBe(1);
  expect(await bookings.metric(/^database_retries_total/)).toBe(1);
}, 60_000);
