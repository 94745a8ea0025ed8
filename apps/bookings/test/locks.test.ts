// Tests which bays a transaction locks when it writes a booking. Creating a booking locks its bay. An update, or a move
// to another facility, locks the old and the new bay. The fixed order of the locks prevents deadlocks.
import { type Database, errorCode, query } from '@bay-booking/service/database/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { fields, pick, updateFields } from '../src/bookings/storage/columns.ts';
import { bayStatements, separateWrites, singleStatementWrites } from '../src/bookings/storage/statements.ts';
import { createBookingStore } from '../src/bookings/storage/store.ts';
import { bookingBody } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());

const lockNotAvailable = '55P03';

/** Tries to lock each bay from another connection, with `nowait`, which fails for a bay that is locked already. */
async function findLockedBays(): Promise<string[]> {
  const locked: string[] = [];
  for (const bay of ['bay-n1-01', 'bay-n1-02', 'bay-n1-03', 'bay-s1-01']) {
    const facility = bay.startsWith('bay-n') ? 'fac-north' : 'fac-south';
    try {
      await query(
        system.db,
        `select from bay where facility_id = '${facility}' and id = '${bay}' for no key update nowait`,
      );
    } catch (error) {
      if (errorCode(error) !== lockNotAvailable) throw error;
      locked.push(bay);
    }
  }
  return locked;
}

/** Runs `write` in a transaction, returns the bays that the transaction has locked, and rolls back. */
async function baysLockedBy(write: (trx: Database) => Promise<unknown>): Promise<string[]> {
  const trx = await system.db.transaction();
  try {
    await write(trx);
    return await findLockedBays();
  } finally {
    await trx.rollback();
  }
}

const createBooking = async () => {
  const response = await system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-n1-02' }) });
  return response.body.id as string;
};
const changeTo = (bayId: string) => {
  const { startDate, endDate } = bookingBody();
  return pick(updateFields, { bayId, userAlias: 'Ann', startDate, endDate });
};
const now = new Date();

test('creating a booking locks its bay', async () => {
  const booking = pick(fields, {
    ...changeTo('bay-n1-01'),
    id: '01900000-0000-7000-8000-000000000001',
    facilityId: 'fac-north',
    createdAt: now.toISOString(),
    lastUpdatedAt: now.toISOString(),
    version: 1,
  });
  // The rules of the bay (opening hours and closures) were never changed, so their version is 0. `looksUpHolds`
  // says whether the transaction looks up the holds of the bay.
  const creation = { rulesVersion: 0, looksUpHolds: false };
  expect(await baysLockedBy((trx) => createBookingStore(trx).create(booking, creation))).toEqual(['bay-n1-01']);
  const lookingUp = { ...creation, looksUpHolds: true };
  expect(await baysLockedBy((trx) => createBookingStore(trx).create(booking, lookingUp))).toEqual(['bay-n1-01']);
});

test('updating a booking locks its old and its new bay', async () => {
  const id = await createBooking();
  // `etags: undefined` stands for a request without If-Match.
  const update = (bayId: string) =>
    baysLockedBy((trx) =>
      createBookingStore(trx).update({
        key: { facilityId: 'fac-north', id },
        change: changeTo(bayId),
        etags: undefined,
        at: now,
        rulesVersion: 0,
        looksUpHolds: false,
      }),
    );
  expect(await update('bay-n1-01')).toEqual(['bay-n1-01', 'bay-n1-02']);
  expect(await update('bay-n1-03')).toEqual(['bay-n1-02', 'bay-n1-03']);
  expect(await update('bay-n1-02')).toEqual(['bay-n1-02']);
});

test('moving a booking to another facility locks its old and its new bay', async () => {
  const id = await createBooking();
  const locks = await baysLockedBy(async (trx) => {
    const store = createBookingStore(trx);
    const booking = await store.find(['fac-north'], id);
    if (booking) {
      const change = changeTo('bay-s1-01');
      await store.move(booking, { facilityId: 'fac-south', change, etags: undefined, at: now, rulesVersion: 0 });
    }
  });
  expect(locks).toEqual(['bay-n1-02', 'bay-s1-01']);
});

test('bays of one facility are locked in the order of their ids', () => {
  // `singleStatementWrites` is for PostgreSQL, and `separateWrites` is for Citus.
  for (const sql of [singleStatementWrites.update, separateWrites.update, bayStatements.lock])
    expect(sql).toMatch(/order by id\s+for no key update/);
});
