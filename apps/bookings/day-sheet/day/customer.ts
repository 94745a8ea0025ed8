// Defines the metadata keys of the desk (phone, e-mail, note, attendance), with their labels and changes.
type Metadata = Readonly<Record<string, string>>;
export type Customer = { readonly metadata?: Metadata | undefined };

/** A Map, because a program may call a key `toString`. */
export const customerLabels: ReadonlyMap<string, string> = new Map([
  ['phone', 'Phone'],
  ['email', 'E-mail'],
  ['note', 'Note'],
  ['attendance', 'Attendance'],
]);

export const attendances: ReadonlyMap<string, string> = new Map([
  ['arrived', 'Arrived'],
  ['late', 'Late'],
  ['no-show', 'No-show'],
]);

/** Other programs write other values too. */
export const attendanceOf = ({ metadata }: Customer): string =>
  attendances.get(metadata?.attendance ?? '') ?? metadata?.attendance ?? '';

/** The attendance, the phone and the note, as far as the booking has them. */
export const customerTexts = (booking: Customer): string[] =>
  [attendanceOf(booking), booking.metadata?.phone, booking.metadata?.note].flatMap((text) => text || []);

export const otherFields = ({ metadata }: Customer): [key: string, value: string][] =>
  Object.entries(metadata ?? {}).filter(([key]) => !customerLabels.has(key));

/** Sets the edited keys and keeps the others. An empty text removes a key. */
export function withEdits({ metadata }: Customer, edits: ReadonlyMap<string, string>): Metadata {
  const entries = new Map([...Object.entries(metadata ?? {}), ...edits]);
  return Object.fromEntries([...entries].filter(([key, value]) => value !== '' || !edits.has(key)));
}

/** Changes the metadata of a booking as another booking's metadata has changed. */
export function changedLike(own: Customer, from: Customer, to: Metadata): Metadata {
  const before = new Map(Object.entries(from.metadata ?? {}));
  const after = new Map(Object.entries(to));
  const edited = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
  return withEdits(own, new Map(edited.map((key) => [key, after.get(key) ?? ''])));
}

/** Says how each key has changed, such as `the phone from nothing to 1234`. */
export function describeMetadataChange(before: unknown, after: unknown): string {
  const [from, to] = [before, after].map((value) => new Map(Object.entries((value ?? {}) as Metadata)));
  const shown = (key: string, values = new Map<string, string>()) =>
    (key === 'attendance' ? attendanceOf({ metadata: Object.fromEntries(values) }) : values.get(key)) || 'nothing';
  return [...new Set([...(from?.keys() ?? []), ...(to?.keys() ?? [])])]
    .filter((key) => shown(key, from) !== shown(key, to))
    .map((key) => `the ${customerLabels.get(key)?.toLowerCase() ?? key} from ${shown(key, from)} to ${shown(key, to)}`)
    .join(', ');
}
