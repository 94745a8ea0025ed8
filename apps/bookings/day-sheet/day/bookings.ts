// Changes bookings with If-Match, so that a change never overwrites a version that the user has not seen.
import { type BookingGroup, BookingsApiError, type CreateBooking, type UpdateBooking } from '@bay-booking/client';
import { client } from '../api.ts';
import { bayNameOf, type Day, type SheetBooking } from './day.ts';
import { differences, SentenceError } from './sentences.ts';
import { clockAt } from './time.ts';

export interface Change {
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
}

const compared = ({
  id: _id,
  _links,
  lastUpdatedAt: _time,
  etag: _etag,
  ...fields
}: Record<string, unknown> & object) => JSON.stringify(Object.entries(fields).sort());

const bodyOf = ({ bayId, userAlias, startDate, endDate }: Change): UpdateBooking => ({
  bayId,
  userAlias,
  startDate,
  endDate,
});

/** Called after every change, so that the sheet shows it before the change feed reports it. */
export type OnSaved = (id: string, booking: SheetBooking | undefined) => void;

const isStatus = (error: unknown, status: number): boolean =>
  error instanceof BookingsApiError && error.status === status;

/** Somebody else has changed or cancelled the booking since the user saw it. `current` is undefined if it is gone. */
export class ChangedMeanwhile extends SentenceError {
  readonly current: SheetBooking | undefined;

  constructor(seen: SheetBooking, current: SheetBooking | undefined, day: Day) {
    const where = `${seen.userAlias} (${bayNameOf(day, seen.bayId)}, ${clockAt(seen.startDate, day.timeZone)})`;
    const what = current ? differences(seen, current, day) || 'other fields' : '';
    super(
      current
        ? `Somebody has changed the booking of ${where} meanwhile: ${what}. Your change was not saved.`
        : `Somebody has cancelled the booking of ${where} meanwhile.`,
    );
    this.current = current;
  }
}

/** Reads the version that the service has now. @throws {ChangedMeanwhile} if it is not the one that the user saw */
async function readSeen(seen: SheetBooking, day: Day) {
  const current = await client.bookings.get(seen.id).catch((error) => {
    if (isStatus(error, 404)) throw new ChangedMeanwhile(seen, undefined, day);
    throw error;
  });
  if (compared({ ...current }) !== compared({ ...seen })) throw new ChangedMeanwhile(seen, current, day);
  return current;
}

async function ifUnchanged<Result>(
  seen: SheetBooking,
  day: Day,
  onSaved: OnSaved,
  change: (etag: string) => Promise<Result>,
) {
  try {
    return await change((await readSeen(seen, day)).etag);
  } catch (error) {
    // A change between the two requests: reading again says what it was.
    const cause = isStatus(error, 412) ? await readSeen(seen, day).catch((changed: unknown) => changed) : error;
    if (cause instanceof ChangedMeanwhile) onSaved(seen.id, cause.current);
    throw cause instanceof Error ? cause : error;
  }
}

export async function updateBooking(
  seen: SheetBooking,
  change: Change,
  day: Day,
  onSaved: OnSaved,
): Promise<SheetBooking> {
  const saved = await ifUnchanged(seen, day, onSaved, (ifMatch) =>
    client.bookings.update(seen.id, bodyOf(change), { ifMatch }),
  );
  const { etag: _etag, ...booking } = saved;
  onSaved(booking.id, booking);
  return booking;
}

export async function cancelBooking(seen: SheetBooking, day: Day, onSaved: OnSaved): Promise<void> {
  await ifUnchanged(seen, day, onSaved, (ifMatch) => client.bookings.delete(seen.id, { ifMatch }));
  onSaved(seen.id, undefined);
}

/**
 * Changes every booking of a party that has not ended: `change` gives the new values of each. The version of the
 * booking that the user saw is checked, and If-Match protects the others from now on.
 */
export async function updateParty(
  seen: SheetBooking,
  change: (booking: SheetBooking) => Change,
  day: Day,
  onSaved: OnSaved,
): Promise<void> {
  const groupId = seen.groupId ?? '';
  await readSeen(seen, day);
  const group = await client.groups.get(groupId);
  const open = group.bookings.filter(({ endDate }) => Date.parse(endDate) > Date.now());
  const bookings = open.map((booking) => ({ id: booking.id, ...bodyOf(change(booking)) }));
  const saved: BookingGroup = await client.groups.replace(groupId, { bookings }, { ifMatch: group.etag });
  for (const booking of saved.bookings) onSaved(booking.id, booking);
}

export async function cancelParty(seen: SheetBooking, day: Day, onSaved: OnSaved): Promise<void> {
  await readSeen(seen, day);
  const { bookings, etag } = await client.groups.get(seen.groupId ?? '');
  await client.groups.delete(seen.groupId ?? '', { ifMatch: etag });
  for (const { id, endDate } of bookings) if (Date.parse(endDate) > Date.now()) onSaved(id, undefined);
}

/** The same form sends the same key, so a lost response does not lead to a second booking. */
const keys = new Map<string, string>();

export async function createBookings(
  bookings: readonly CreateBooking[],
  onSaved: OnSaved,
): Promise<readonly SheetBooking[]> {
  const body = JSON.stringify(bookings);
  const idempotencyKey = keys.get(body) ?? crypto.randomUUID();
  keys.set(body, idempotencyKey);
  try {
    const created =
      bookings.length === 1
        ? [await client.bookings.create(bookings[0] as CreateBooking, { idempotencyKey })]
        : (await client.groups.create({ bookings: [...bookings] }, { idempotencyKey })).bookings;
    for (const booking of created) onSaved(booking.id, booking);
    keys.delete(body);
    return created;
  } catch (error) {
    // The service has decided. The same wish later is a new request.
    if (error instanceof BookingsApiError && error.problems.length > 0) keys.delete(body);
    throw error;
  }
}
