// Why nobody waits in a circle: a create locks its bay, an update its old and its new bay in the order of their ids, a move both bays
// too, until they commit. Whoever else wants one of them waits there, and for nothing else.

import { type Database, errorCode, query } from '@bay-booking/service/database/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writes } from '../src/bookings/storage/statements.ts';
import { createBookingStore } from '../src/bookings/storage/store.ts';
import { bookingBody } from './support/booking-requests.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterAll(() => system.close());

async function lockedBays(): Promise<string[]> {
  const locked: string[] = [];
  for (const bay of ['bay-n1-01', 'bay-n1-02', 'bay-n1-03', 'bay-s1-01']) {
    const facility = bay.startsWith('bay-n') ? 'fac-north' : 'fac-south';
    try {
      await query(
        system.db,
        `select from bay where facility_id = '${facility}' and id = '${bay}' for no key update nowait`,
      );
    } catch (error) {
      if (errorCode(error) !== '55P03') throw error;
      locked.push(bay);
    }
  }
  return locked;
}

/** Runs `work` in a transaction, looks which bays it holds, and takes it back. */
async function bayLocksOf(work: (trx: Database) => Promise<unknown>): Promise<string[]> {
  const trx = await system.db.transaction();
  try {
    await work(trx);
    return await lockedBays();
  } finally {
    await trx.rollback();
  }
}

const create = async () => {
  const response = await system.call('POST', '/api/bookings', { body: bookingBody({ bayId: 'bay-n1-02' }) });
  return response.body.id as string;
};
const wish = (bayId: string) => {
  const { startDate, endDate } = bookingBody();
  return { bayId, userAlias: 'Ann', startDate, endDate };
};
const now = new Date();

test('a create holds its bay', async () => {
  const booking = {
    ...wish('bay-n1-01'),
    id: '01900000-0000-7000-8000-000000000001',
    facilityId: 'fac-north',
    externalBookingId: undefined,
    correlationId: undefined,
    createdAt: now.toISOString(),
    lastUpdatedAt: now.toISOString(),
    version: 1,
  };
  expect(await bayLocksOf((trx) => createBookingStore(trx).create(booking))).toEqual(['bay-n1-01']);
});

test('an update holds its old and its new bay', async () => {
  const id = await create();
  const update = (bayId: string) =>
    bayLocksOf((trx) => createBookingStore(trx).update('fac-north', id, wish(bayId), undefined, now));
  expect(await update('bay-n1-01')).toEqual(['bay-n1-01', 'bay-n1-02']);
  expect(await update('bay-n1-03')).toEqual(['bay-n1-02', 'bay-n1-03']);
  expect(await update('bay-n1-02')).toEqual(['bay-n1-02']);
});

test('a move to another facility holds both bays', async () => {
  const id = await create();
  const locks = await bayLocksOf(async (trx) => {
    const store = createBookingStore(trx);
    const booking = await store.find(['fac-north'], id);
    if (booking) await store.move(booking, 'fac-south', wish('bay-s1-01'), undefined, now);
  });
  expect(locks).toEqual(['bay-n1-02', 'bay-s1-01']);
});

test('bays of one facility are locked in the order of their ids', () => {
  expect(writes.update).toMatch(/order by id for no key update/);
  expect(writes.lockBays).toMatch(/order by id for no key update/);
});
