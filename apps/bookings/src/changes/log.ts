// Appends to the log of changes, the table booking_change. The change feed, the history and webhooks are derived from
// it.
import { send, type Transaction } from '@bay-booking/service/database/database';
import { timeRange } from '../database/sql.ts';

/** Who made a change. Both fields are null if the service made it. */
export interface ChangeActor {
  readonly clientId: string | null;
  readonly subject: string | null;
}

export interface Author extends ChangeActor {
  readonly requestId: string | null;
}

/** The author of changes that the service makes. */
export const serviceItself: Author = { clientId: null, subject: null, requestId: null };

/** A booking's public fields and its location. Times are ISO 8601 strings in UTC with milliseconds. */
export type BookingState = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly bayId: string;
  readonly locationId: string;
  readonly startDate: string;
  readonly endDate: string;
};

/** Replaces the value of a personal field. */
export const erasedText = 'erased';

export const changeActions = ['created', 'updated', 'deleted', 'erased'] as const;
export type ChangeAction = (typeof changeActions)[number];

export interface BookingChange {
  readonly facilityId: string;
  readonly bookingId: string;
  /** The booking's version after the change. A deletion counts as one more version. */
  readonly version: number;
  readonly at: string;
  readonly action: ChangeAction;
  /** Null for `created`. */
  readonly before: BookingState | null;
  /** Null for `deleted`, and for `erased` if the booking was deleted before. */
  readonly after: BookingState | null;
  /** The facility that a move came from or went to. */
  readonly otherFacilityId?: string;
}

/** The SQL expression for the time that a booking occupies in a state. */
export const timeOfState = (state: 'before' | 'after'): string =>
  timeRange(`(${state} ->> 'startDate')::timestamptz`, `(${state} ->> 'endDate')::timestamptz`);

/** The SQL expression for the column `before_time`. */
export const beforeTime = `case when before is not null then ${timeOfState('before')} end`;

const append = `insert into booking_change
  (facility_id, booking_id, version, at, action, client_id, subject, request_id, before, after, other_facility_id,
   before_time)
select $1, "bookingId", version, at, action, $2, $3, $4, before, after, "otherFacilityId", ${beforeTime}
from jsonb_to_recordset($5::jsonb) as change ("bookingId" uuid, version integer, at timestamptz, action text,
  before jsonb, after jsonb, "otherFacilityId" text)`;

/** Appends changes without writing bookings. */
export function appendChanges(tx: Transaction, changes: readonly BookingChange[], author: Author): void {
  for (const [facilityId, ofFacility] of Map.groupBy(changes, (change) => change.facilityId))
    send(tx, append, changeValues(facilityId, ofFacility, author));
}

/**
 * Returns the statement that writes bookings of a facility and appends their changes. Its first parameters are
 * `changeValues`, and the facility is $1. One statement instead of two makes creates 1.11 times as fast.
 */
export const withChanges = (write: string): string => `with logged as (${append})\n${write}`;

/** The parameters $1 to $5. */
export function changeValues(facilityId: string, changes: readonly BookingChange[], author: Author): unknown[] {
  return [facilityId, author.clientId, author.subject, author.requestId, JSON.stringify(changes)];
}
