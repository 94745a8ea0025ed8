// Tests a deadlock between the service and another program that locks a booking before a bay. The service counts the
// deadlock and repeats the transaction, so the client gets its normal response.
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { callApi } from './support/api.ts';
import { nextBooking } from './support/booking-load.ts';
import { getToken, startTestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';

// The system may need more time to start than the default timeout of jest allows, so the timeout is 90 s.
const system = useFixture(startTestSystem);
beforeAll(async () => {
  // PostgreSQL must look for a deadlock only after the other program waits too, and must not cancel a statement.
  for (const setting of ["deadlock_timeout = '3s'", 'lock_timeout = 0', 'statement_timeout = 0'])
    await system.database.query('postgres', `alter role bookings_service set ${setting}`);
});

/** The code 40P01 of PostgreSQL means that a transaction was cancelled because of a deadlock. */
const deadlocks = /^database_errors_total.*"40P01"/;

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

  const program = await beginTransaction();
  try {
    await program.query('select from booking where id = $1 for update', [created.body.id]);
    const path = `/api/bookings/${created.body.id}`;
    const moving = callApi(bookings.base, token, 'PUT', path, bookingAt('bay-n2-03'));
    // The service has locked bay-n2-03 and waits for the booking.
    await waitForBlockedSessions(1);
    const locking = program.query("select from bay where id = 'bay-n2-03' for update");
    await eventually(async () => (await bookings.metric(deadlocks)) === 1);
    await locking;
    // The service now repeats its transaction, and waits for the bay.
    await program.query('rollback');
    expect((await moving).status).toBe(200);
  } finally {
    await program.end();
  }
  expect(await bookings.metric(deadlocks)).toBe(1);
  expect(await bookings.metric(/^database_retries_total/)).toBe(1);
});
