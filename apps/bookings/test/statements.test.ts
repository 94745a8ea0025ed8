// Every statement can run on tables that are spread over several nodes by facility: one facility per write, no join across facilities,
// nothing that only one node could keep. See docs/decisions for why.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { countWrites } from '../src/bookings/counts/compaction.ts';
import {
  binsStatement,
  goingOnStatement,
  startedBeforeStatement,
  totalStatement,
} from '../src/bookings/counts/statements.ts';
import { searchStatements } from '../src/bookings/search/statements.ts';
import { bookedRange, countReads, reads, writes } from '../src/bookings/storage/statements.ts';
import { importReads, importWrites } from '../src/places/import-store.ts';
import { placeReads } from '../src/places/store.ts';

const migrations = globSync(`${import.meta.dirname}/../migrations/*.sql`)
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');
const now = new Date();
const date = { start: now, end: now };
const searches = [['f'], ['f', 'g']].flatMap((facilities) =>
  [
    {},
    { ids: ['a'], externalBookingIds: ['a'], correlationIds: ['a'], bayIds: ['a'], userAlias: 'a' },
    { locationIds: ['a'], isActive: false },
    { isActive: true, time: { kind: 'within', ...date } as const },
    { time: { kind: 'overlapping', ...date } as const },
    { isActive: true },
    { time: { kind: 'overlapping', start: undefined, end: now } as const },
    { bayIds: ['a', 'b'] },
    { upcoming: { todayOnly: true } },
  ].flatMap((filter) => {
    const criteria = { facilities, now, ...filter };
    const { firstPage, laterPage, count } = searchStatements(criteria);
    const located = searchStatements(criteria, { from: now, to: now, offset: 1 });
    const counts = [
      totalStatement(criteria),
      startedBeforeStatement(criteria, now),
      goingOnStatement(criteria, now, now),
      binsStatement(criteria, 24, now, now),
    ];
    return [firstPage, laterPage, count, located.laterPage, ...counts.flatMap((found) => found?.sql ?? [])];
  }),
);

const { lock, setState, ...counting } = countWrites;
const facilityWrites = Object.entries({ ...writes, ...importWrites, ...counting }).filter(
  ([name]) => !/Reference$|Answer/.test(name),
);
const globalWrites = Object.entries(writes).filter(([name]) => /Reference$|Answer/.test(name));
const everything = [
  ...Object.values({ ...reads, ...writes, ...importWrites, ...placeReads }),
  ...Object.values({ ...countReads, ...countWrites }),
  ...searches,
  importReads.facilitiesOfLocationIds,
  importReads.facilitiesOfBayIds,
];

test.each(facilityWrites)('the write %s names exactly one facility', (name, sql) => {
  if (name === 'facility') {
    expect(sql).toMatch(/^insert into facility \(id, name, time_zone\) values \(\$1, /);
    return;
  }
  const named = new Set([...sql.matchAll(/facility_id = (\$\d+)(?!\))/g)].map(([, parameter]) => parameter));
  const inserted = /^insert into \w+ \(facility_id,[\s\S]*?(?:select|values \() ?\$1,/.test(sql);
  expect(inserted ? 1 : named.size).toBe(1);
  expect(sql).not.toMatch(/facility_id = any|booking_reference|idempotency_key/);
});

test('a recount locks one facility, and what tells that it was done has no facility', () => {
  expect(lock).toMatch(/from facility where id = \$1 for no key update$/);
  expect(setState).toMatch(/^update booking_count_state .* where id = 1$/);
});

test.each(globalWrites)(
  'the write %s touches one table that no facility owns, by its key, and no other',
  (_name, sql) => {
    expect(new Set(sql.match(/\b(booking_reference|idempotency_key|booking|bay|location|facility)\b/g)).size).toBe(1);
    expect(sql).toMatch(/on conflict \((external_booking_id|id)\)|where (external_booking_id = \$1|id = any\(\$1\))/);
  },
);

test('no read joins the tables of facilities with those of none', () => {
  for (const sql of [...Object.values(reads), ...searches]) {
    if (/\b(booking_reference|idempotency_key)\b/.test(sql))
      expect(sql).not.toMatch(/\bfrom (booking|bay|location|facility)\b|join/);
  }
});

test('every join is within one facility', () => {
  for (const sql of everything) {
    for (const [, on] of sql.matchAll(/(?<!cross )join [\w ]+? on ([\s\S]*?)(?:where|left|join|$)/g)) {
      expect(on).toMatch(/facility_id = |facility\.id = |= facility\.id/);
    }
  }
});

test('no lateral over unnest, no window over the whole, no advisory lock, no error by constraint name', () => {
  for (const sql of everything) expect(sql).not.toMatch(/unnest|over \(|advisory|pg_try|nextval|\?/);
  const source = globSync(`${import.meta.dirname}/../src/**/*.ts`)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  expect(source).not.toMatch(/\.constraint\b/);
});

test('facility_id leads every key of the tables that have it; no trigger, no sequence', () => {
  for (const [, columns] of migrations.matchAll(/(?:primary key|unique|references \w+) \(([^)]*)\)/g)) {
    expect(columns).toMatch(/^(facility_id\b|id$|external_booking_id$)/);
  }
  for (const [, table, columns] of migrations.matchAll(/create unique index \w+ on (\w+) \(([^)]*)\)/g)) {
    if (['booking', 'bay', 'location'].includes(table as string)) expect(columns).toMatch(/^facility_id\b/);
  }
  expect(migrations).toMatch(/exclude using gist \(\s*facility_id with =,\s*bay_id with =/);
  expect(migrations).not.toMatch(/create trigger|serial\b|generated .* as identity|create sequence/i);
});

test('searches by time use the very expression of the exclusion constraint', () => {
  expect(migrations).toContain(bookedRange);
});
