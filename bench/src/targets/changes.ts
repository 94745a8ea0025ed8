// Builds the rows that a target writes: new bookings and their changes in the log.
import { createHash, randomBytes } from 'node:crypto';
import { type BookingRow, publicFields } from './bodies.ts';
import type { Caller } from './tokens.ts';

export type Body = Readonly<Record<string, string>>;

/** Returns a UUIDv7 that ends with the tag of the facility, so that the indexes grow as those of the service do. */
function newId(facilityId: string): string {
  const random = randomBytes(8);
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f);
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f);
  const tag = createHash('sha256').update(facilityId).digest('hex').slice(0, 4);
  return `${Date.now().toString(16).padStart(12, '0')}${random.toString('hex')}${tag}`.replace(
    /^(.{8})(.{4})(.{4})(.{4})(.{12})$/,
    '$1-$2-$3-$4-$5',
  );
}

export interface Place {
  readonly facility_id: string;
  readonly location_id: string;
}

const fieldsOf = ({ bayId = '', userAlias = '', startDate = '', endDate = '' }: Body) => ({
  bay_id: bayId,
  user_alias: userAlias,
  start_date: new Date(startDate),
  end_date: new Date(endDate),
});

export function newBooking({ facility_id, location_id }: Place, body: Body): BookingRow {
  const now = new Date();
  return {
    facility_id,
    location_id,
    id: newId(facility_id),
    external_booking_id: body.externalBookingId ?? null,
    correlation_id: body.correlationId ?? null,
    ...fieldsOf(body),
    created_at: now,
    last_updated_at: now,
    version: 1,
  };
}

/** Returns the current time, or the time of the last change if a clock went back. */
const laterThan = ({ last_updated_at }: BookingRow) => new Date(Math.max(Date.now(), last_updated_at.getTime()));

export const updatedBooking = (row: BookingRow, { location_id }: Place, body: Body): BookingRow => ({
  ...row,
  location_id,
  ...fieldsOf(body),
  last_updated_at: laterThan(row),
  version: row.version + 1,
});

/** Whether the end is neither before the start nor in the past. */
export const hasValidTimes = ({ startDate = '', endDate = '' }: Body): boolean =>
  Date.parse(endDate) >= Math.max(Date.parse(startDate), Date.now());

const stateOf = (row: BookingRow): string =>
  JSON.stringify({ ...publicFields(row, null), groupId: null, metadata: null, locationId: row.location_id });

/** Returns the columns of the change that leads from `before` to `after`. At least one of the two exists. */
export function changeOf(
  before: BookingRow | undefined,
  after: BookingRow | undefined,
  { clientId, subject }: Caller,
  requestId: string,
) {
  const { facility_id, id, version, last_updated_at } =
    after ??
    ({ ...before, version: (before?.version ?? 0) + 1, last_updated_at: before && laterThan(before) } as BookingRow);
  return {
    facility_id,
    booking_id: id,
    version,
    at: last_updated_at,
    action: !before ? 'created' : after ? 'updated' : 'deleted',
    client_id: clientId,
    subject,
    request_id: requestId,
    before: before ? stateOf(before) : null,
    after: after ? stateOf(after) : null,
    before_time: before ? `[${before.start_date.toISOString()},${before.end_date.toISOString()})` : null,
  };
}
