// The record facility: its time zone is the one of its opening hours and of `todayOnly`.

import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import { atPointer } from '@bay-booking/common/validation';
import { checkTimeZone, outcomeOf, type RecordKind, Stored } from '@bay-booking/records/record';
import { query, send, type Transaction } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import { lockFacility } from '../database/locks.ts';
import { responseSchema } from '../http/schemas.ts';
import type { createLocationKind } from './location.ts';
import { findRows, placeReads, storeDeletion, storeOutcomes } from './places.ts';

const schema = responseSchema({ id: idSchema, name: nameSchema, timeZone: textSchema });
type Facility = FromSchema<typeof schema>;

const table = { table: 'facility', columns: 'id, name, time_zone as "timeZone"', conditions: {} } as const;
const reads = placeReads<Facility>(table);

/** The database may have been restored to a time before an earlier import of the facility (changes/restore.ts). */
const write = `insert into facility (id, name, time_zone, change_number, removed_change_number)
select $1, $2, $3, first_number, first_number from database_identity
on conflict (id) do update set name = excluded.name, time_zone = excluded.time_zone`;
const locations = 'select id from location where facility_id = $1 and removed_at is null limit 1';
const remove = 'update facility set removed_at = now() where id = $1';
/** Searches use the time zones of PostgreSQL, which has another list than Node. The list is slow to read. */
const unknownTimeZones = `select name from unnest($1::text[]) name
where not exists (select from pg_timezone_names z where z.name = name.name)`;

async function findUnknownTimeZones(tx: Transaction, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const rows = await query<{ name: string }>(tx, unknownTimeZones, [[...new Set(names)]]);
  return new Set(rows.map(({ name }) => name));
}

export const createFacilityKind = (location: ReturnType<typeof createLocationKind>): RecordKind<Facility, string> => ({
  name: 'facility',
  collection: 'facilities',
  key: 'id',
  example: { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen' },
  schema,
  children: { field: 'locations', kind: location, parentField: 'facilityId' },
  filters: {},
  notes: {
    put: 'Its locations stay as they are.',
    remove: 'Fails with 409 PLACE00003 while the facility has locations. Its id is never used again.',
  },
  check: checkTimeZone,
  ...reads,

  upsert: async (tx, records, context) => {
    const rows = await findRows<Facility>(
      tx,
      table,
      records.map(({ id }) => id),
    );
    const changed = records.filter(({ id, timeZone }) => rows.get(id)?.record.timeZone !== timeZone);
    const unknown = await findUnknownTimeZones(
      tx,
      changed.map(({ timeZone }) => timeZone),
    );
    const outcomes = records.map((record) => {
      const row = rows.get(record.id);
      const deleted = atPointer('/id', 'conflict', 'belonged to a facility that was deleted', { code: 'PLACE00002' });
      const zone = atPointer('/timeZone', 'invalid', `${record.timeZone} is not a time zone of the database`);
      const problems = [...(row?.isActive === false ? [deleted] : []), ...(unknown.has(record.timeZone) ? [zone] : [])];
      return outcomeOf(row && new Stored(row.record), new Stored(record), problems);
    });
    for (const { id, name, timeZone } of storeOutcomes(tx, 'facility', outcomes, (facility) => facility.id, context))
      send(tx, write, [id, name, timeZone]);
    // For the log entry of an import.
    if (context.missing === 'keep') context.events.push(...records.map(({ id }) => id));
    return outcomes;
  },

  remove: async (tx, id, { clientId }, check) => {
    lockFacility(tx, id);
    const found = await reads.find(tx, id);
    if (!found) return 'unknown';
    check(found);
    if ((await query(tx, locations, [id])).length > 0)
      return atPointer('', 'conflict', '', { code: 'PLACE00003', contextData: {} });
    send(tx, remove, [id]);
    storeDeletion(tx, 'facility', id, id, clientId);
    return 'removed';
  },
});
