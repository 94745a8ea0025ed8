// Appends to the log of changes, the table booking_change. Totals, the change feed and webhooks are derived from it.
import { send, type Transaction } from '@bay-booking/service/database/database';

/** Who made a change. Every field is null if the service itself made it. */
export interface Author {
  readonly clientId: string | null;
  readonly subject: string | null;
  readonly requestId: string | null;
}

/** The public fields of a booking and its location. Times are ISO 8601 texts in UTC with milliseconds. */
export type BookingState = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly bayId: string;
  readonly locationId: string;
  readonly startDate: string;
  readonly endDate: string;
};

export type ChangeAction = 'created' | 'updated' | 'deleted';

export interface BookingChange {
  readonly facilityId: string;
  readonly bookingId: string;
  /** The version of the booking after the change. A deletion counts as one more version. */
  readonly version: number;
  readonly at: string;
  readonly action: ChangeAction;
  /** Null for `created`. */
  readonly before: BookingState | null;
  /** Null for `deleted`. */
  readonly after: BookingState | null;
}

const append = `insert into booking_change
  (facility_id, booking_id, version, at, action, client_id, subject, request_id, before, after)
select $1, "bookingId", version, at, action, $2, $3, $4, before, after from jsonb_to_recordset($5::jsonb)
  as change ("bookingId" uuid, version integer, at timestamptz, action text, before jsonb, after jsonb)`;

/** Must be called in the transaction that writes the bookings. */
export function appendChanges(tx: Transaction, changes: readonly BookingChange[], author: Author): void {
  const { clientId, subject, requestId } = author;
  for (const [facilityId, ofFacility] of Map.groupBy(changes, (change) => change.facilityId))
    send(tx, append, [facilityId, clientId, subject, requestId, JSON.stringify(ofFacility)]);
}
