// Defines every field of a booking in one table: its column, its SQL type, who sets it, and whether clients see it.
//
// The types of bookings, the SQL statements and the JSON of responses are derived from this table. To add an optional
// field, add it to this table, to a migration and to `../schema.ts`, and run `npm run generate`.

interface Column {
  readonly column: string;
  readonly type: 'integer' | 'text' | 'timestamptz' | 'uuid';
  /** The value can be null. In JSON the field is then left out. */
  readonly optional?: true;
  /** The requests in which clients set the field. The service sets all other fields. */
  readonly setBy?: 'create' | 'create and update';
  /** Clients do not see the field. */
  readonly internal?: true;
}

/** The order of the fields is their order in JSON. */
const table = {
  facilityId: { column: 'facility_id', type: 'text', internal: true },
  id: { column: 'id', type: 'uuid' },
  externalBookingId: { column: 'external_booking_id', type: 'text', optional: true, setBy: 'create' },
  correlationId: { column: 'correlation_id', type: 'text', optional: true, setBy: 'create' },
  bayId: { column: 'bay_id', type: 'text', setBy: 'create and update' },
  userAlias: { column: 'user_alias', type: 'text', setBy: 'create and update' },
  startDate: { column: 'start_date', type: 'timestamptz', setBy: 'create and update' },
  endDate: { column: 'end_date', type: 'timestamptz', setBy: 'create and update' },
  createdAt: { column: 'created_at', type: 'timestamptz' },
  lastUpdatedAt: { column: 'last_updated_at', type: 'timestamptz' },
  version: { column: 'version', type: 'integer', internal: true },
} as const satisfies Record<string, Column>;

type Table = typeof table;
export type Field = keyof Table;
type FieldsWith<Properties> = { [F in Field]: Table[F] extends Properties ? F : never }[Field];

/** The fields that a request to create a booking sets. */
export type CreateField = FieldsWith<{ setBy: string }>;
/** The fields that a request to update a booking sets. */
export type UpdateField = FieldsWith<{ setBy: 'create and update' }>;
/** The fields that clients see. */
export type PublicField = Exclude<Field, FieldsWith<{ internal: true }>>;

/** A booking. Its times are UTC with milliseconds, in the format of responses, so they can be compared as strings. */
export type Booking = {
  readonly [F in Field]:
    | (Table[F]['type'] extends 'integer' ? number : string)
    | (Table[F] extends { optional: true } ? null : never);
};

export const fields = Object.keys(table) as Field[];
export const createFields = fieldsThat(({ setBy }) => setBy !== undefined) as CreateField[];
export const updateFields = fieldsThat(({ setBy }) => setBy === 'create and update') as UpdateField[];
export const publicFields = fieldsThat(({ internal }) => !internal) as PublicField[];
export const optionalFields = fieldsThat(({ optional }) => optional === true) as FieldsWith<{ optional: true }>[];

function fieldsThat(condition: (column: Column) => boolean): Field[] {
  return fields.filter((field) => condition(table[field]));
}

/** `id, external_booking_id, …`, each with `prefix`. */
export function columnList(names: readonly Field[], prefix = ''): string {
  return names.map((field) => `${prefix}${table[field].column}`).join(', ');
}

/** `booking.id as "id", …`: the rows of a statement with this list are bookings. `from` is a table or CTE. */
export function selectList(names: readonly Field[], from = 'booking'): string {
  return names.map((field) => `${from}.${table[field].column} as "${field}"`).join(', ');
}

/** The parameter of each field, such as `$3::text`. `first` is the number of the first parameter. */
export function parameters<F extends Field>(names: readonly F[], first: number): Readonly<Record<F, string>> {
  const entries = names.map((field, index) => [field, `$${first + index}::${table[field].type}`]);
  return Object.fromEntries(entries) as Record<F, string>;
}

/** `bay_id = $5::text, …`: sets each field to its parameter. */
export function assignments<F extends Field>(names: readonly F[], parameter: Readonly<Record<F, string>>): string {
  return names.map((field) => `${table[field].column} = ${parameter[field]}`).join(', ');
}

/** The values of the parameters of these fields. */
export function valuesOf<F extends Field>(names: readonly F[], source: Readonly<Record<F, unknown>>): unknown[] {
  return names.map((field) => source[field]);
}

/** These fields of `source`; null where it has no value. */
export function pick<F extends Field>(names: readonly F[], source: Readonly<Partial<Record<F, unknown>>>) {
  const picked: Partial<Record<F, unknown>> = {};
  for (const field of names) picked[field] = source[field] ?? null;
  return picked as Pick<Booking, F>;
}

/** `jsonb_build_object('id', booking.id, …)`: a booking as JSON, with the names of the fields as keys. */
export function jsonObject(names: readonly Field[], from: string): string {
  return `jsonb_build_object(${names.map((field) => `'${field}', ${from}.${table[field].column}`).join(', ')})`;
}

/** Reads what `jsonObject` has built. PostgreSQL writes times in JSON with the offset of its session. */
export function publicFieldsFromJson(json: Readonly<Record<string, unknown>>): Pick<Booking, PublicField> {
  const entries = publicFields.map((field) => {
    const value = json[field] ?? null;
    return [field, table[field].type === 'timestamptz' ? new Date(String(value)).toISOString() : value];
  });
  return Object.fromEntries(entries) as Pick<Booking, PublicField>;
}
