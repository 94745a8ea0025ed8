// Reads the history: the entries of one booking, and the entries of a facility.
import type { PageRequest } from '@bay-booking/common/page';
import type { Database } from '@bay-booking/service/database/database';
import { queryPage } from '@bay-booking/service/page-statements';
import { hashOfBay, timeRange } from '../../database/sql.ts';
import { type BookingState, type ChangeAction, type ChangeActor, timeOfState } from '../log.ts';

export interface HistoryEntry {
  readonly facilityId: string;
  readonly bookingId: string;
  readonly version: number;
  readonly action: ChangeAction;
  readonly at: string;
  readonly actor: ChangeActor;
  readonly requestId: string | null;
  readonly before: BookingState | null;
  readonly after: BookingState | null;
}

export interface HistoryFilter {
  readonly facilityId: string;
  readonly bayIds?: readonly string[] | undefined;
  /** Selects changes of bookings that overlap the interval. One of the two can be undefined. */
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  readonly action?: ChangeAction | undefined;
}

const columns = `facility_id as "facilityId", booking_id as "bookingId", version, action, at,
  jsonb_build_object('clientId', client_id, 'subject', subject) as actor, request_id as "requestId", before, after`;

/** The log keeps a change for longer than the history if the feed still needs it. */
const isKept = (oldest: string): string => `(at >= ${oldest}::timestamptz or (latest and after is not null))`;

/** A move is a deletion and a creation with the same version. */
const ofBooking = {
  columns,
  from: `from booking_change where facility_id = any($1) and booking_id = $2::uuid and ${isKept('$3')}`,
  orderBy: 'version, after is not null',
};

export type HistoryStore = ReturnType<typeof createHistoryStore>;

export function createHistoryStore(db: Database) {
  return {
    /** Returns entries since `oldest`, oldest first. */
    ofBooking: (facilities: readonly string[], id: string, oldest: Date, page: PageRequest) =>
      queryPage<HistoryEntry>(db, ofBooking, [facilities, id, oldest.toISOString()], page),

    /** Returns entries since `oldest`, newest first. Changes without a number are not included. */
    ofFacility: (filter: HistoryFilter, oldest: Date, page: PageRequest) => {
      const { from, values } = selectEntries(filter, oldest);
      const orderBy = 'at desc, booking_id desc, version desc';
      return queryPage<HistoryEntry>(db, { columns, from, orderBy }, values, page);
    },
  };
}

function selectEntries({ facilityId, bayIds, start, end, ...fields }: HistoryFilter, oldest: Date) {
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const facility = `facility_id = ${parameter(facilityId)}`;
  const conditions = [facility, 'number is not null', isKept(parameter(oldest.toISOString()))];
  // A subquery hides a value from PostgreSQL's planner, which would otherwise plan the statement for every execution.
  const hidden = (value: unknown, type: string): string => `(select ${parameter(value)}::${type})`;
  const bayParameter = bayIds && hidden(bayIds, 'text[]');
  const bays = bayParameter && `= any(${bayParameter}::text[])`;
  const isInstant = start !== undefined && start.getTime() === end?.getTime();
  const interval =
    (start || end) &&
    `tstzrange(${hidden(start?.toISOString() ?? null, 'timestamptz')}, ` +
      `${hidden(end?.toISOString() ?? null, 'timestamptz')}, '${isInstant ? '[]' : '[)'}')`;
  if (bays || interval) {
    const isSelected = (bay: string, time: string): string =>
      [bays && `${bay} ${bays}`, interval && `${time} && ${interval}`].filter(Boolean).join(' and ');
    const wasSelected = `before_time is not null and ${isSelected("before ->> 'bayId'", 'before_time')}`;
    conditions.push(
      `((${wasSelected}) or (after is not null and ${isSelected("after ->> 'bayId'", timeOfState('after'))}))`,
    );
    // Every state of a booking is its current state, or the state before one of its changes.
    const hash = bayParameter ? ` and ${hashOfBay('several', bayParameter)}` : '';
    if (interval)
      conditions.push(`booking_id in (
  select id from booking where ${facility} and ${isSelected('bay_id', timeRange('start_date', 'end_date'))}${hash}
  union all
  select booking_id from booking_change where ${facility} and number is not null and ${wasSelected})`);
  }
  const { subject, clientId, action } = fields;
  for (const [column, value] of Object.entries({ subject, client_id: clientId, action }))
    if (value !== undefined) conditions.push(`${column} = ${parameter(value)}`);
  const entries = `booking_change where ${conditions.join(' and ')}`;
  // `offset 0`: otherwise PostgreSQL would read all entries in the order of `at` to find those of a bay and a day.
  return { from: interval ? `from (select * from ${entries} offset 0) entry` : `from ${entries}`, values };
}
