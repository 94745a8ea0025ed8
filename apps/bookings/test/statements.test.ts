// Checks that SQL statements can run on tables that are distributed over several nodes by facility
// (docs/decisions/0003-facility-id-in-every-key.md). The tables of webhooks are not distributed, so their statements
// are not checked.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ruleWrites } from '../src/availability/rule-statements.ts';
import { ruleReads } from '../src/availability/rules-store.ts';
import { availabilityReads, baysStatement } from '../src/availability/store.ts';
import { searchStatements } from '../src/bookings/search/statements.ts';
import type { Criteria } from '../src/bookings/search/where.ts';
import {
  bayStatements,
  bookedRange,
  bookingReads,
  referenceStatements,
  separateWrites,
  singleStatementWrites,
} from '../src/bookings/storage/statements.ts';
import { feedReads, feedWrites } from '../src/changes/feed/statements.ts';
import { compactionReads, compactionWrites } from '../src/changes/totals/compaction.ts';
import {
  binsStatement,
  completeFlagQuery,
  countStatement,
  inProgressStatement,
  kindOf,
  startedStatement,
} from '../src/changes/totals/statements.ts';
import { closureReads, closureWrites } from '../src/closures/store.ts';
import { holdReads, holdWrites, lockClient } from '../src/holds/store.ts';
import { idempotencyStatements } from '../src/idempotency/store.ts';
import { hoursStatements } from '../src/opening-hours/store.ts';
import { importReads, importWrites } from '../src/places/import-store.ts';
import { placeReads } from '../src/places/store.ts';

const migrations = globSync(`${import.meta.dirname}/../migrations/*.sql`)
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');
const now = new Date();
/**
 * The length of the bins, which are the periods for which bookings are counted. Another length changes only a
 * number in the SQL, so the tests need one length only.
 */
const hoursPerBin = 24;
const dates = { start: now, end: now };
/** Each of these filters gives a search different SQL statements. */
const filters: Omit<Criteria, 'facilities' | 'now'>[] = [
  {},
  { ids: ['a'], externalBookingIds: ['a'], correlationIds: ['a'], bayIds: ['a'], userAlias: 'a' },
  { locationIds: ['a'], isActive: false },
  { isActive: true, time: { kind: 'within', ...dates } },
  { time: { kind: 'overlapping', ...dates } },
  { isActive: true },
  { time: { kind: 'overlapping', start: undefined, end: now } },
  { bayIds: ['a', 'b'] },
  { upcoming: { todayOnly: true } },
];
const searches = [['f'], ['f', 'g']].flatMap((facilities) =>
  filters.flatMap((filter) => statementsOf(facilities, filter)),
);

/** Returns all statements that a search with this filter can run. */
function statementsOf(facilities: readonly string[], filter: (typeof filters)[number]): string[] {
  const criteria = { facilities, now, ...filter };
  const { firstPage, laterPage, count } = searchStatements(criteria);
  // The second argument selects a part of the list. The SQL does not depend on its values.
  const segment = searchStatements(criteria, { from: now, to: now, offset: 1 });
  const listKind = kindOf(criteria);
  const counts = [
    ...(listKind ? [countStatement(criteria, listKind)] : []),
    startedStatement(criteria, now),
    inProgressStatement(criteria, now, now),
    binsStatement(criteria, hoursPerBin, now, now),
  ];
  return [firstPage, laterPage, count, segment.laterPage, ...counts.map(({ sql }) => sql)];
}

// Each of these objects contains writes, and also other statements that the tests below treat differently.
const { lockFacility, tryLockFacility, setComplete, ...countWrites } = compactionWrites;
const { find: findReference, ...referenceWrites } = referenceStatements;
const { find: findResponse, findExpired, ...responseWrites } = idempotencyStatements;
/** Returns the name and the SQL of each statement. The name begins with `owner`. */
const writesOf = (statements: Record<string, string>, owner: string): [string, string][] =>
  Object.entries(statements).map(([name, sql]) => [`${owner}.${name}`, sql]);

const facilityWrites = [
  ...writesOf(singleStatementWrites, 'singleStatementWrites'),
  ...writesOf(separateWrites, 'separateWrites'),
  ...writesOf(bayStatements, 'bayStatements'),
  ...writesOf(importWrites, 'importWrites'),
  ...writesOf(ruleWrites, 'ruleWrites'),
  ...writesOf({ set: hoursStatements.set }, 'hoursStatements'),
  ...writesOf(closureWrites, 'closureWrites'),
  ...writesOf(holdWrites, 'holdWrites'),
  ...writesOf(countWrites, 'compactionWrites'),
  ...writesOf(feedWrites, 'feedWrites'),
];
/** Writes to the tables without the column facility_id: booking_reference, idempotency_key and booking_hold_client. */
const serviceWideWrites = [
  ...writesOf(referenceWrites, 'referenceStatements'),
  ...writesOf(responseWrites, 'idempotencyStatements'),
  ...writesOf({ lockClient }, 'holds'),
];
const reads = [...Object.values(bookingReads), findReference, findResponse, findExpired, ...searches];
/** All checked statements. */
const allStatements = [
  ...[...facilityWrites, ...serviceWideWrites].map(([, sql]) => sql),
  ...reads,
  ...Object.values({ ...ruleReads, ...closureReads, ...hoursStatements, ...holdReads, ...availabilityReads }),
  ...[['f'], ['f', 'g']].map((facilities) => baysStatement(facilities, {}, { limit: 1, offset: 0 }).sql),
  ...Object.values({ ...placeReads, ...compactionReads, ...compactionWrites, ...feedReads }),
  completeFlagQuery,
  importReads.facilitiesOfLocationIds,
  importReads.facilitiesOfBayIds,
];

test.each(facilityWrites)('%s writes rows of exactly one facility', (name, sql) => {
  // The table of the facilities has no column facility_id. Its key is the id of the facility.
  if (name === 'importWrites.facility') {
    expect(sql).toMatch(/^insert into facility \(id, name, time_zone\) values \(\$1, /);
    return;
  }
  // Every comparison with facility_id must use the same parameter. An insert can instead have $1 as the facility of
  // all its rows.
  const facilities = new Set([...sql.matchAll(/facility_id = (\$\d+)/g)].map(([, parameter]) => parameter));
  const insertsFirstParameter = /^insert into \w+ \(facility_id,[\s\S]*?(?:select|values \() ?\$1,/.test(sql);
  expect(insertsFirstParameter ? 1 : facilities.size).toBe(1);
  // The rows of tables without a facility can be on other nodes. Other statements write them (`serviceWideWrites`).
  expect(sql).not.toMatch(/facility_id = any|booking_reference|idempotency_key/);
});

test('the counts of bookings are changed with a lock on one facility, and their state has no facility', () => {
  expect(lockFacility).toMatch(/from facility where id = \$1 for no key update$/);
  expect(tryLockFacility).toMatch(/from facility where id = \$1 for no key update skip locked$/);
  expect(setComplete).toMatch(/^update booking_count_state .* where id = 1$/);
});

test.each(serviceWideWrites)('%s uses a single table, and finds its rows by the key', (_name, sql) => {
  expect(
    new Set(sql.match(/\b(booking_reference|idempotency_key|booking_hold_client|booking|bay|location|facility)\b/g))
      .size,
  ).toBe(1);
  expect(sql).toMatch(/on conflict \((external_booking_id|id)\)|where (external_booking_id = \$1|id = any\(\$1\))/);
});

test('no query uses both a table that has the column facility_id and a table that does not', () => {
  for (const sql of reads) {
    if (/\b(booking_reference|idempotency_key)\b/.test(sql))
      expect(sql).not.toMatch(/\bfrom (booking|bay|location|facility)\b|join/);
  }
});

test('queries of holds are for one facility, unless they count holds, read the clock or find expired holds', () => {
  const { findExpired: findExpiredHolds, clock, count, ...others } = holdReads;
  for (const sql of Object.values(others)) expect(sql).toMatch(/where (hold\.)?facility_id = \$1 /);
  // These three queries are not limited to one facility. On a distributed database, such a query can neither join
  // tables nor lock rows.
  expect([findExpiredHolds, count, clock].join('\n')).not.toMatch(/join|for (no key )?update/);
});

test('every join compares the facility of both tables', () => {
  for (const sql of allStatements) {
    // The group matches the condition of the join, up to the next clause.
    for (const [, on] of sql.matchAll(/(?<!cross )join [\w ]+? on ([\s\S]*?)(?:where|left|join|$)/g)) {
      expect(on).toMatch(/facility_id = |facility\.id = |= facility\.id/);
    }
  }
});

test('no statement uses features that Citus does not support: unnest, advisory locks, sequences', () => {
  // The names of some functions that take advisory locks begin with `pg_try`. A `?` would be a parameter of knex.
  for (const sql of allStatements) expect(sql).not.toMatch(/unnest|advisory|pg_try|nextval|\?/);
});

test('only statements of one facility use window functions', () => {
  // Citus runs the window functions of a statement for one facility on the node of the facility. For several
  // facilities, Citus would transfer every row to the coordinator.
  const ofOneFacility = new Set([...facilityWrites.map(([, sql]) => sql), ...Object.values(compactionWrites)]);
  for (const sql of allStatements) if (!ofOneFacility.has(sql)) expect(sql).not.toMatch(/over \(/);
});

test('no code depends on the name of a constraint, because Citus renames constraints', () => {
  const source = globSync(`${import.meta.dirname}/../src/**/*.ts`)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  expect(source).not.toMatch(/\.constraint\b/);
});

test('every key begins with facility_id or a globally unique id, and there are no triggers and sequences', () => {
  for (const [, columns] of migrations.matchAll(/(?:primary key|unique|references \w+) \(([^)]*)\)/g)) {
    // Keys may begin with webhook_id, because the tables of webhooks stay on the coordinator of a distributed database.
    expect(columns).toMatch(/^(facility_id\b|webhook_id\b|id$|external_booking_id$)/);
  }
  for (const [, table, columns] of migrations.matchAll(/create unique index \w+ on (\w+) \(([^)]*)\)/g)) {
    if (['booking', 'bay', 'location'].includes(table as string)) expect(columns).toMatch(/^facility_id\b/);
  }
  expect(migrations).toMatch(/exclude using gist \(\s*facility_id with =,\s*bay_id with =/);
  expect(migrations).not.toMatch(/create trigger|serial\b|generated .* as identity|create sequence/i);
});

test('searches by time use exactly the expression of the exclusion constraint', () => {
  expect(migrations).toContain(bookedRange);
});
