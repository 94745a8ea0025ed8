// Defines every field of a booking in one table: the column in the database, its SQL type, whether clients set the
// field, and whether clients see it. Builds the types and the SQL of bookings from this table.
//
// docs/how-to-add.md describes how to add an optional field. Every statement contains the id of one facility, or finds
// the rows of booking_reference by their key, so it also runs on a distributed database
// (docs/decisions.md).
import { type BookingState, erasedText, withChanges } from '../../changes/log.ts';
import { timeRange } from '../../database/sql.ts';

interface Column {
  readonly column: string;
  readonly type: 'integer' | 'jsonb' | 'text' | 'timestamptz' | 'uuid';
  /** Whether the value can be null. JSON leaves out null fields. */
  readonly optional?: true;
  /** Requests that set the field. The service sets all other fields. */
  readonly setBy?: 'create' | 'create and update';
  /** Whether the field is hidden from clients. */
  readonly internal?: true;
  /** Whether an erasure removes the value. It becomes `erased`, or null if the field is optional. */
  readonly personal?: true;
}

/** The JSON of a booking has the fields in the order of this table. */
const table = {
  facilityId: { column: 'facility_id', type: 'text', internal: true },
  locationId: { column: 'location_id', type: 'text', internal: true },
  id: { column: 'id', type: 'uuid' },
  externalBookingId: { column: 'external_booking_id', type: 'text', optional: true, setBy: 'create' },
  correlationId: { column: 'correlation_id', type: 'text', optional: true, setBy: 'create' },
  groupId: { column: 'group_id', type: 'uuid', optional: true },
  bayId: { column: 'bay_id', type: 'text', setBy: 'create and update' },
  userAlias: { column: 'user_alias', type: 'text', setBy: 'create and update', personal: true },
  startDate: { column: 'start_date', type: 'timestamptz', setBy: 'create and update' },
  endDate: { column: 'end_date', type: 'timestamptz', setBy: 'create and update' },
  metadata: { column: 'metadata', type: 'jsonb', optional: true, setBy: 'create and update', personal: true },
  createdAt: { column: 'created_at', type: 'timestamptz' },
  lastUpdatedAt: { column: 'last_updated_at', type: 'timestamptz' },
  version: { column: 'version', type: 'integer', internal: true },
} as const satisfies Record<string, Column>;

type Table = typeof table;
export type Field = keyof Table;
type FieldsWith<Properties> = { [F in Field]: Table[F] extends Properties ? F : never }[Field];

export type CreateField = FieldsWith<{ setBy: string }>;
export type UpdateField = FieldsWith<{ setBy: 'create and update' }>;
export type PublicField = Exclude<Field, FieldsWith<{ internal: true }>>;

/** The client's own fields of a booking. */
export type Metadata = Readonly<Record<string, string>>;

/** Times are strings in UTC with milliseconds, as in responses, and can be compared as strings. */
export type Booking = {
  readonly [F in Field]:
    | (Table[F]['type'] extends 'integer' ? number : Table[F]['type'] extends 'jsonb' ? Metadata : string)
    | (Table[F] extends { optional: true } ? null : never);
};

const fields = Object.keys(table) as Field[];
export const createFields = fieldsThat(({ setBy }) => setBy !== undefined) as CreateField[];
export const updateFields = fieldsThat(({ setBy }) => setBy === 'create and update') as UpdateField[];
export const publicFields = fieldsThat(({ internal }) => !internal) as PublicField[];
export const optionalFields = fieldsThat(({ optional }) => optional === true) as FieldsWith<{ optional: true }>[];

/** The personal fields with their values after an erasure. */
export const erasedFields: Readonly<Record<string, string | null>> = Object.fromEntries(
  fieldsThat(({ personal }) => personal === true).map((field) => [
    field,
    optionalFields.some((optional) => optional === field) ? null : erasedText,
  ]),
);

function fieldsThat(condition: (column: Column) => boolean): Field[] {
  return fields.filter((field) => condition(table[field]));
}

/** Builds a list of columns such as `id, external_booking_id, …`. */
const columnList = (names: readonly Field[]): string => names.map((field) => table[field].column).join(', ');

/** Builds a select list such as `booking.id as "id", …`, for rows of the type `Booking`. */
export function selectList(names: readonly Field[]): string {
  return names.map((field) => `booking.${table[field].column} as "${field}"`).join(', ');
}

function valuesOf<F extends Field>(names: readonly F[], source: Readonly<Record<F, unknown>>): unknown[] {
  return names.map((field) => source[field]);
}

/** Returns these fields of `source`. A missing field is null. */
export function pick<F extends Field>(names: readonly F[], source: Readonly<Partial<Record<F, unknown>>>) {
  const picked: Partial<Record<F, unknown>> = {};
  for (const field of names) picked[field] = source[field] ?? null;
  return picked as Pick<Booking, F>;
}

/** Returns a booking's state in the log of changes (changes/log.ts). */
export function stateOf(booking: Booking): BookingState {
  return { ...pick(publicFields, booking), locationId: booking.locationId };
}

/** The SQL expression for the state of a row of `booking` in the log of changes (changes/log.ts). */
export const bookingState = `jsonb_build_object(${[...publicFields, 'locationId' as const]
  .map((field) => `'${field}', ${stateValue(table[field])}`)
  .join(', ')})`;

function stateValue({ column, type }: Column): string {
  return type === 'timestamptz'
    ? `to_char(booking.${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    : `booking.${column}`;
}

/**
 * The time that a booking or a hold occupies: an instant if its start equals its end. Must equal the expression of the
 * constraint booking_no_overlap, so that searches by time can use the constraint's index.
 */
export const bookedRange = timeRange('start_date', 'end_date');

export const selectBookings = `select ${selectList(fields)} from booking`;

/** PostgreSQL plans a statement with `any($1)` at every execution: 165 µs of its CPU time, not 46 µs as with `= $1`. */
export const selectBooking = `${selectBookings} where facility_id = $1 and id = $2::uuid`;
export const selectBookingAtSome = `${selectBookings} where facility_id = any($1) and id = $2::uuid`;

export const lockBooking = `${selectBooking} for update`;

/** A group exists as long as it has bookings. */
const bookingsOfGroup = `${selectBookings} where facility_id = $1 and group_id = $2::uuid`;
export const findGroup = `${bookingsOfGroup} order by start_date, id`;
export const lockBookingsOfGroup = `${bookingsOfGroup} order by id for update`;

// The statements below write bookings of the facility $1 and append their changes, which have the parameters $1 to $5.

const insertStatements = new Map<number, string>();
/** Returns the statement that inserts `count` bookings. Citus takes several rows only as a list of values. */
export function insertBookings(count: number): string {
  const existing = insertStatements.get(count);
  if (existing) return existing;
  const rows = Array.from({ length: count }, (_, row) => {
    const parameters = fields.map((field, index) => `$${row * fields.length + index + 6}::${table[field].type}`);
    return `(${parameters.join(', ')})`;
  });
  const statement = withChanges(`insert into booking (${columnList(fields)}) values ${rows.join(', ')}`);
  insertStatements.set(count, statement);
  return statement;
}
export const insertValues = (bookings: readonly Booking[]): unknown[] =>
  bookings.flatMap((booking) => valuesOf(fields, booking));

/** The fields that the service sets when it updates a booking. The location is that of the bay. */
const changedFields = [...updateFields, 'locationId', 'lastUpdatedAt', 'version'] as const;

/** Returns the statement that updates bookings of the facility $1 without a change in the log. */
export function updateRows(parameter: string): string {
  const set = changedFields.map((field) => `${table[field].column} = changed."${field}"`);
  const columns = (['id', ...changedFields] as const).map((field) => `"${field}" ${table[field].type}`);
  return `update booking set ${set.join(', ')}
from jsonb_to_recordset(${parameter}::jsonb) as changed (${columns.join(', ')})
where booking.facility_id = $1 and booking.id = changed.id`;
}
/** The constraint booking_no_overlap is checked after the statement, so two bookings can exchange their bays. */
export const updateBookings = withChanges(updateRows('$6'));
export const updateValues = (bookings: readonly Booking[]): unknown[] => [
  JSON.stringify(bookings.map((booking) => pick(['id', ...changedFields], booking))),
];

/** A subquery hides the ids from PostgreSQL's planner, which would otherwise plan the statement for every execution. */
export const deleteBookings = withChanges(
  'delete from booking where facility_id = $1 and id = any((select $6::uuid[])::uuid[])',
);

/** The table booking_reference ensures that no two bookings have the same external id, even at different facilities. */
export const references = {
  find: `select external_booking_id as id, facility_id as "facilityId" from booking_reference
where external_booking_id = any($1)`,
  insert: 'insert into booking_reference (external_booking_id, facility_id, booking_id) values ($1, $2, $3::uuid)',
  move: 'update booking_reference set facility_id = $2 where external_booking_id = $1',
  delete: 'delete from booking_reference where external_booking_id = $1',
} as const;
