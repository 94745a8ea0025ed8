// The record facility: its fields, and how operators create, change, disable and delete it.
import { responseSchema } from '@bay-booking/common/endpoint';
import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import { atPointer } from '@bay-booking/common/validation';
import { createReads, outcomeOf, type RecordKind } from '@bay-booking/records/record';
import { type Queryable, query } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import { findDeleted, storeOperatorEvents } from '../audit/store.ts';

const timeZone = { ...textSchema, format: 'time-zone' } as const;
const schema = responseSchema({ id: idSchema, name: nameSchema, timeZone, disabled: { type: 'boolean' } });
type Facility = FromSchema<typeof schema>;

const defaults = { timeZone: 'UTC', disabled: false };
const columns = 'f.id, f.name, f.time_zone as "timeZone", f.disabled_at is not null as disabled';
const rows = { columns, from: 'from facility f where true', orderBy: 'id', conditions: {}, byKey: 'id = $1' };
const read = (facility: Facility) => ({ record: facility });

const select = (on: Queryable, ids: readonly string[], lock = '') =>
  query<Facility>(on, `select ${columns} from facility f where id = any ($1) order by id ${lock}`, [ids]);

const write = `insert into facility as f (id, name, time_zone, disabled_at)
select id, name, "timeZone", case when disabled then now() end
  from jsonb_to_recordset($1::jsonb) as r (id text, name text, "timeZone" text, disabled boolean)
on conflict (id) do update set name = excluded.name, time_zone = excluded.time_zone,
  disabled_at = case when excluded.disabled_at is not null then coalesce(f.disabled_at, now()) end`;

export const facilityKind: RecordKind<Facility> = {
  name: 'facility',
  collection: 'facilities',
  key: 'id',
  example: { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen', disabled: false },
  schema,
  optional: Object.keys(defaults),
  filters: {},
  notes: {
    put: 'No token names a facility that is disabled, and its page in the portal shows only a notice.',
    remove: 'Fails with 409 while the facility has members. Its id is never used again.',
  },

  ...createReads(rows, read),

  async compare(tx, records, context) {
    const ids = records.map(({ id }) => id);
    const stored = new Map((await select(tx, ids, 'for no key update')).map((row) => [row.id, row]));
    const deleted = await findDeleted(tx, 'facility', ids);
    return records.map((record) => {
      const before = stored.get(record.id);
      const after = { ...defaults, ...(context.keepsOmitted && before), ...record };
      const used = atPointer('/id', 'conflict', 'belonged to a facility that was deleted', { code: 'PLACE00002' });
      return outcomeOf(before && read(before), after, deleted.has(record.id) ? [used] : []);
    });
  },

  async write(tx, outcomes, context) {
    await query(tx, write, [JSON.stringify(outcomes.map(({ after }) => after))]);
    const events = outcomes.map(({ before, after, changed }) => ({
      kind: before ? 'facility.changed' : 'facility.created',
      facilityId: after.id,
      detail: { changed, ...(changed.includes('disabled') && { disabled: after.disabled }) },
    }));
    await storeOperatorEvents(tx, context, events);
  },

  lock: (tx, id) => select(tx, [id], 'for update'),

  async remove(tx, { id }, context) {
    const removed = await query(
      tx,
      `delete from facility where id = $1 and not exists (select from membership where facility_id = $1)
       returning 1 as done`,
      [id],
    );
    if (removed.length === 0) return atPointer('', 'conflict', '', { code: 'MEMBER00002', contextData: {} });
    await query(tx, 'insert into deleted_facility (id) values ($1)', [id]);
    // A token for other facilities too stays. One without facilities gets no rights.
    await query(
      tx,
      'update client set facility_ids = array_remove(facility_ids, $1) where facility_ids @> array[$1::text]',
      [id],
    );
    await storeOperatorEvents(tx, context, [{ kind: 'facility.deleted', facilityId: id }]);
    return undefined;
  },
};
