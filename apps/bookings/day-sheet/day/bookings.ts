// Changes bookings with If-Match, so that a change never overwrites a version that the user has not seen.
import {
  type BookingGroup,
  BookingsApiError,
  type CreateBooking,
  type UpdateBooking,
  type Versioned,
} from '@bay-booking/client';
import { catchUp, client } from '../api.ts';
import { bayNameOf, type Day, type SheetBooking } from './day.ts';
import { differences, RejectedRequest, SentenceError } from './sentences.ts';
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

const isStatus = (error: unknown, status: number): boolean =>
  error instanceof BookingsApiError && error.status === status;

/** Somebody else has changed or cancelled the booking since the user saw it. `current` is undefined if it is gone. */
export class ChangedMeanwhile extends SentenceError {
  readonly current: SheetBooking | undefined;

  constructor(seen: SheetBooking, current: SheetBooking | undefined, day: Day) {
    const which = `${seen.userAlias} (${bayNameOf(day, seen.bayId)}, ${clockAt(seen.startDate, day.timeZone)})`;
    const what = current ? differences(seen, current, day) || 'other fields' : '';
    super(
      current
        ? `Someone else changed the booking of ${which}: ${what}. Your change was not saved.`
        : `Someone else cancelled the booking of ${which}.`,
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
  checkSeen(seen, current, day);
  return current;
}

function checkSeen(seen: SheetBooking, current: SheetBooking | undefined, day: Day): void {
  if (!current || compared({ ...current }) !== compared({ ...seen })) throw new ChangedMeanwhile(seen, current, day);
}

async function ifUnchanged<Result>(seen: SheetBooking, day: Day, change: (etag: string) => Promise<Result>) {
  try {
    return await change((await readSeen(seen, day)).etag);
  } catch (error) {
    // A change between the two requests: reading again says what it was.
    const cause = isStatus(error, 412) ? await readSeen(seen, day).catch((changed: unknown) => changed) : error;
    if (cause instanceof ChangedMeanwhile) await catchUp();
    throw cause instanceof Error ? cause : error;
  }
}

export async function updateBooking(seen: SheetBooking, change: Change, day: Day): Promise<SheetBooking> {
  const saved = await ifUnchanged(seen, day, (ifMatch) =>
    client.bookings.update(seen.id, bodyOf(change), { ifMatch }),
  ).catch((error: unknown) => {
    // The response to an earlier attempt was lost: the booking already is what the user wants.
    const current = error instanceof ChangedMeanwhile ? error.current : undefined;
    if (current && JSON.stringify(bodyOf(current)) === JSON.stringify(bodyOf(change))) return { ...current, etag: '' };
    throw error;
  });
  const { etag: _etag, ...booking } = saved;
  return booking;
}

export async function cancelBooking(seen: SheetBooking, day: Day): Promise<void> {
  await ifUnchanged(seen, day, (ifMatch) => client.bookings.delete(seen.id, { ifMatch }));
}

/**
 * Changes every booking of a party that has not ended: `change` gives the new values of each. Returns a function that
 * restores the party, unless somebody has changed it since.
 */
export async function updateParty(
  seen: SheetBooking,
  change: (booking: SheetBooking) => Change,
  day: Day,
): Promise<() => Promise<void>> {
  const { bookings: before, etag } = await readParty(seen, day);
  const open = before.filter(({ endDate }) => Date.parse(endDate) > Date.now());
  const replace = async (bookings: readonly (Change & { id: string })[], ifMatch: string) => {
    const bodies = bookings.map((booking) => ({ id: booking.id, ...bodyOf(booking) }));
    const saved = await client.groups
      .replace(seen.groupId ?? '', { bookings: bodies }, { ifMatch })
      .catch((error: unknown) => Promise.reject(new RejectedRequest(error, bodies)));
    return saved.etag;
  };
  const newEtag = await replace(
    open.map((booking) => ({ id: booking.id, ...change(booking) })),
    etag,
  );
  return async () => {
    await replace(open, newEtag);
  };
}

export async function cancelParty(seen: SheetBooking, day: Day): Promise<void> {
  const { etag } = await readParty(seen, day);
  await client.groups.delete(seen.groupId ?? '', { ifMatch: etag });
}

/** One request reads all members, so If-Match protects exactly the version that is compared here. */
async function readParty(seen: SheetBooking, day: Day): Promise<Versioned<BookingGroup>> {
  const group = await client.groups.get(seen.groupId ?? '');
  checkSeen(
    seen,
    group.bookings.find(({ id }) => id === seen.id),
    day,
  );
  return group;
}

const keys = new Map<string, string>();

/** Sends the same Idempotency-Key for the same body, so a lost response does not lead to a second resource. */
export async function createOnce<Result>(
  body: unknown,
  create: (idempotencyKey: string) => Promise<Result>,
): Promise<Result> {
  const text = JSON.stringify(body);
  const key = keys.get(text) ?? crypto.randomUUID();
  keys.set(text, key);
  try {
    const result = await create(key);
    keys.delete(text);
    return result;
  } catch (error) {
    // The service has decided. The same request later is a new one.
    if (error instanceof BookingsApiError && error.status < 500 && error.status !== 409) keys.delete(text);
    throw error;
  }
}

export const createBookings = (bookings: readonly CreateBooking[]): Promise<void> =>
  createOnce(bookings, async (idempotencyKey) => {
    const [first] = bookings;
    if (first && bookings.length === 1) await client.bookings.create(first, { idempotencyKey });
    else await client.groups.create({ bookings: [...bookings] }, { idempotencyKey });
  });
