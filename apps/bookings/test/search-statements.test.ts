// Do the statements, which take a search apart to find it in indexes, find what the rules of contract section 7 say? Against the rules
// written down once more, on bookings whose ends often touch the moments asked for.
import { connectDatabase, type Database, query } from '@bay-booking/service/database/database';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createCountingStore } from '../src/bookings/counts/compaction.ts';
import { createSearchStore } from '../src/bookings/search/store.ts';
import type { Criteria } from '../src/bookings/search/where.ts';
import { distribution } from '../src/database/distribution.ts';
import { migrationsDirectory } from '../src/database/migrations-directory.ts';

const hour = 3_600_000;
const origin = Date.UTC(2030, 0, 1);
const at = (hours: number): Date => new Date(origin + hours * hour);
const lengths = [0, 1, 1, 2, 9];

interface Made {
  readonly id: string;
  readonly facility: string;
  readonly location: string;
  readonly start: number;
  readonly end: number;
}

const made: Made[] = [];
for (let bay = 0; bay < 6; bay++) {
  for (let start = bay % 3; start < 40; start += 3) {
    const number = String(made.length).padStart(12, '0');
    const end = start + (lengths[(start + bay) % lengths.length] ?? 0);
    const [facility, location] = [`f${bay % 2}`, `l${bay % 2}${bay % 3 === 0 ? 'a' : 'b'}`];
    made.push({ id: `00000000-0000-7000-8000-${number}`, facility, location, start, end });
  }
}

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase({ migrations: migrationsDirectory, distribution });
  db = connectDatabase({ url: database.url, applicationName: 'test' });
  await query(db, "insert into facility select id, id, 'UTC' from unnest($1::text[]) id", [['f0', 'f1']]);
  for (const { id, facility, location, start, end } of made) {
    await query(db, 'insert into location values ($1, $2, $2) on conflict do nothing', [facility, location]);
    await query(db, "insert into bay values ($1, $2, $3, '', '', '', true)", [facility, id, location]);
    await query(
      db,
      `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at)
       values ($1, $2::uuid, $3, $2::text, 'Ann', $4, $5, now(), now())`,
      [facility, id, location, at(start), at(end)],
    );
  }
  await createCountingStore(db).recount();
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const overlaps = ({ start, end }: Made, from: number, to: number): boolean =>
  (start === end ? start >= from && start < to : start < to && end > from) ||
  (from === to && start <= from && (end > from || start === from));

const now = 20;
/** Each has one booking. */
const bays = made.filter((_, index) => index % 3 > 0).map(({ id }) => id);
const cases: [string, Partial<Criteria>, (booking: Made) => boolean][] = [
  ['everything', {}, () => true],
  ['active', { isActive: true }, ({ end }) => end > now],
  ['inactive', { isActive: false }, ({ end }) => end <= now],
  [
    'active in a location',
    { isActive: true, locationIds: ['l0a'] },
    ({ end, location }) => end > now && location === 'l0a',
  ],
  [
    'inactive in locations',
    { isActive: false, locationIds: ['l0a', 'l0b'] },
    ({ end, location }) => end <= now && ['l0a', 'l0b'].includes(location),
  ],
  [
    'until a moment, in a location',
    { locationIds: ['l0b'], time: { kind: 'overlapping', start: undefined, end: at(30) } },
    (b) => b.location === 'l0b' && overlaps(b, -1e9, 30),
  ],
  ['of bays', { bayIds: bays }, ({ id }) => bays.includes(id)],
  ['of bays, inactive', { bayIds: bays, isActive: false }, ({ id, end }) => bays.includes(id) && end <= now],
  ['of bays, active', { bayIds: bays, isActive: true }, ({ id, end }) => bays.includes(id) && end > now],
  [
    'of bays, until a moment',
    { bayIds: bays, time: { kind: 'overlapping', start: undefined, end: at(17) } },
    (b) => bays.includes(b.id) && overlaps(b, -1e9, 17),
  ],
  ['from a moment on', { time: { kind: 'overlapping', start: at(17), end: undefined } }, (b) => overlaps(b, 17, 1e9)],
  ['until a moment', { time: { kind: 'overlapping', start: undefined, end: at(17) } }, (b) => overlaps(b, -1e9, 17)],
  ['between two moments', { time: { kind: 'overlapping', start: at(9), end: at(17) } }, (b) => overlaps(b, 9, 17)],
  [
    'from a moment on and active',
    { isActive: true, time: { kind: 'overlapping', start: at(12), end: undefined } },
    (b) => b.end > now && overlaps(b, 12, 1e9),
  ],
  [
    'until a moment and active',
    { isActive: true, time: { kind: 'overlapping', start: undefined, end: at(30) } },
    (b) => b.end > now && overlaps(b, -1e9, 30),
  ],
  [
    'from a moment on and inactive',
    { isActive: false, time: { kind: 'overlapping', start: at(12), end: undefined } },
    (b) => b.end <= now && overlaps(b, 12, 1e9),
  ],
  ['of an alias, active', { isActive: true, userAlias: 'Ann' }, ({ end }) => end > now],
  [
    'within two moments',
    { locationIds: ['l0a', 'l1b'], time: { kind: 'within', start: at(9), end: at(17) } },
    (b) => ['l0a', 'l1b'].includes(b.location) && b.start >= 9 && b.end <= 17,
  ],
];

test.each(
  cases.flatMap(([name, filter, rule]) =>
    [['f0'], ['f0', 'f1']].flatMap((facilities) =>
      (['counts', 'counts alone', 'rows'] as const).map((by) => ({ name, facilities, filter, rule, by })),
    ),
  ),
)('$name, in $facilities, by $by: every page, in order, and the total', async ({ facilities, filter, rule, by }) => {
  await createCountingStore(db).setComplete(by !== 'rows');
  const { search } = createSearchStore(db, by === 'counts alone' ? { walkedAtMost: 0 } : {});
  const expected = made
    .filter((booking) => facilities.includes(booking.facility) && rule(booking))
    .sort((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
  const found: string[] = [];
  for (let page = 1; page <= Math.ceil(expected.length / 7) + 1; page++) {
    const { bookings, total } = await search({ facilities, now: at(now), ...filter }, { page, pageSize: 7 });
    expect(total).toBe(expected.length);
    found.push(...bookings.map(({ id }) => id));
  }
  expect(expected.length).toBeGreaterThan(0);
  expect(found).toEqual(expected);
});
