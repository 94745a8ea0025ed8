// What happens when somebody else, who keeps no order, locks bays against us? The deadlock is lost, counted and tried again, and no client sees it.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { nextBooking } from './booking-load.ts';
import { eventually } from './fault-lab.ts';
import { type FaultSystem, getToken, startFaultSystem } from './fault-system.ts';

let system: FaultSystem;
beforeAll(async () => {
  system = await startFaultSystem();
}, 90_000);
afterAll(() => system?.stop(), 60_000);

test('an update that loses a deadlock is made all the same, and both metrics show it', async () => {
  const token = await getToken((await system.startAuth()).base);
  const bookings = await system.startBookings();
  const { startDate, endDate } = nextBooking();
  const ask = (method: string, path: string, bayId: string) =>
    fetch(`${bookings.base}/api/bookings${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ bayId, userAlias: 'fault', startDate, endDate }),
      signal: AbortSignal.timeout(20_000),
    });
  const { id } = (await (await ask('POST', '', 'bay-n2-02')).json()) as { id: string };

  const other = new pg.Client({ connectionString: system.database.ownerUrlOf('bookings') });
  await other.connect();
  try {
    const lock = (bay: string) => other.query('select from bay where id = $1 for update', [bay]);
    await other.query('begin');
    await lock('bay-n2-03');
    const moved = ask('PUT', `/${id}`, 'bay-n2-03');
    await eventually(async () => {
      const sql = "select from pg_stat_activity where wait_event_type = 'Lock' and usename = 'bookings_service'";
      return (await system.database.query('bookings', sql)).rowCount === 1;
    });
    // The service began to wait first, so that it is the first to look for a deadlock, and the one that gives way.
    await lock('bay-n2-02');
    await other.query('rollback');
    expect((await moved).status).toBe(200);
  } finally {
    await other.end();
  }
  expect(await bookings.metric(/^database_errors_total.*"40P01"/)).toBe(1);
  expect(await bookings.metric(/^database_retries_total/)).toBe(1);
}, 60_000);
