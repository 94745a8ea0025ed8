// Changes bookings, closures and opening hours with If-Match, so that a change never overwrites a version that the user
// has not seen.
import { BookingsApiError, type CreateBooking, type Versioned } from '@bay-booking/client';
import { api, catchUp } from '../api.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from '../day/day.ts';
import { ChangedMeanwhile, changesBetween, RejectedBookings } from '../day/sentences.ts';
import { type BookingValues, bookingsInScope, type SeriesScope } from '../day/series.ts';
import { timeOf } from '../day/time.ts';

const hasStatus = (error: unknown, ...statuses: readonly number[]): boolean =>
  error instanceof BookingsApiError && statuses.includes(error.status);

export interface Target<Content> {
  /** Names the resource in a sentence. */
  readonly name: string;
  readonly read: () => Promise<Versioned<Content>>;
  /** Says what another person has changed since the user saw the resource. */
  readonly changesIn: (current: Content) => string;
}

const maxAttempts = 3;

/** Changes a resource. @throws {ChangedMeanwhile} if it is not the one that the user saw */
export async function ifUnchanged<Content extends object, Result>(
  { name, read, changesIn }: Target<Content>,
  change: (current: Versioned<Content>) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const current = await read().catch(async (error: unknown) => {
      if (!hasStatus(error, 404)) throw error;
      await catchUp();
      throw new ChangedMeanwhile(`Somebody else removed ${name}.`, undefined);
    });
    const changes = changesIn(current);
    if (changes) {
      await catchUp();
      throw new ChangedMeanwhile(`Somebody else changed ${name}: ${changes}. Your change was not saved.`, current);
    }
    try {
      return await change(current);
    } catch (error) {
      // Somebody changed the resource between the two requests, perhaps a field that the page does not show.
      if (attempt === maxAttempts || !hasStatus(error, 404, 412)) throw error;
    }
  }
}

/** Removes a resource. A resource that is gone already counts as removed. */
export async function removeIfUnchanged<Content extends object>(
  target: Target<Content>,
  remove: (options: { readonly ifMatch: string }, current: Content) => Promise<unknown>,
): Promise<void> {
  await ifUnchanged(target, (current) => remove({ ifMatch: current.etag }, current)).catch((error: unknown) => {
    if (!(error instanceof ChangedMeanwhile && !error.current)) throw error;
  });
}

/** If the response to an earlier attempt was lost, the resource already has the requested values. */
export const changesSince = (original: object, requested: object | undefined, current: object, day: Day): string =>
  requested && changesBetween(current, { ...current, ...requested }, day) === ''
    ? ''
    : changesBetween(original, current, day);

/** A booking that the user saw, alone or with others of its group. */
export interface ChosenBookings {
  readonly booking: SheetBooking;
  readonly scope: SeriesScope;
  readonly day: Day;
}

type Bookings = { readonly bookings: readonly SheetBooking[] };

const bodyOf = ({ id }: SheetBooking, { bayId, userAlias, startDate, endDate, metadata }: BookingValues) => ({
  id,
  bayId,
  userAlias,
  startDate,
  endDate,
  ...(metadata && { metadata }),
});

/** The service keeps the metadata that a request leaves out. */
const unchanged = ({ metadata: _, ...booking }: SheetBooking): BookingValues => booking;

/** Bookings that have ended stay as they are. */
const changeableOf = (bookings: readonly SheetBooking[], { scope }: ChosenBookings) =>
  bookings.filter(({ endDate }) => scope === 'one' || Date.parse(endDate) > Date.now());

const idsOf = (bookings: readonly SheetBooking[], { booking, scope, day }: ChosenBookings): readonly string[] =>
  bookingsInScope(bookings, booking, scope, day.timeZone).map(({ id }) => id);

function targetOf(chosen: ChosenBookings, requested?: BookingValues) {
  const { booking, scope, day } = chosen;
  const { id, groupId, bayId, startDate } = booking;
  const shared = {
    name: `the booking of ${nameOf(booking)} (${bayNameOf(day, bayId)}, ${timeOf(startDate, day)})`,
    changesIn: ({ bookings }: Bookings) => {
      const current = bookings.find((one) => one.id === id);
      return current ? changesSince(booking, requested, current, day) : 'it was cancelled';
    },
  };
  type Bodies = readonly (BookingValues & { readonly id: string })[];
  if (scope !== 'one' && groupId)
    return {
      ...shared,
      // One request reads all bookings, so If-Match protects exactly the version that is compared.
      read: (): Promise<Versioned<Bookings>> => api.groups.get(groupId),
      write: async (bodies: Bodies, ifMatch: string) =>
        (await api.groups.replace(groupId, { bookings: [...bodies] }, { ifMatch })).etag,
      remove: async (options: { readonly ifMatch: string }, { bookings }: Bookings) => {
        const removed = idsOf(bookings, chosen);
        const rest = changeableOf(bookings, chosen).filter((one) => !removed.includes(one.id));
        if (rest.length === 0) await api.groups.delete(groupId, options);
        else await api.groups.replace(groupId, { bookings: rest.map((one) => bodyOf(one, unchanged(one))) }, options);
      },
    };
  return {
    ...shared,
    read: async (): Promise<Versioned<Bookings>> => {
      const { etag, ...current } = await api.bookings.get(id);
      return { bookings: [current], etag };
    },
    write: async ([body]: Bodies, ifMatch: string) =>
      (await api.bookings.update(id, body as BookingValues, { ifMatch })).etag,
    remove: (options: { readonly ifMatch: string }) => api.bookings.delete(id, options),
  };
}

/**
 * Changes a booking, or bookings of its group that have not ended. Returns a function that restores them, unless
 * somebody has changed them since.
 */
export async function changeBookings(
  chosen: ChosenBookings,
  change: (booking: SheetBooking) => BookingValues,
): Promise<() => Promise<void>> {
  // A group moves by a distance, so after a lost response the same change would move the group twice.
  const target = targetOf(chosen, chosen.scope === 'one' ? change(chosen.booking) : undefined);
  return ifUnchanged(target, async ({ bookings, etag }) => {
    const changeable = changeableOf(bookings, chosen);
    const changedIds = idsOf(changeable, chosen);
    const write = (changeOf: (booking: SheetBooking) => BookingValues, ifMatch: string): Promise<string> => {
      // A group keeps only the bookings that the request names.
      const bodies = changeable.map((one) => bodyOf(one, changedIds.includes(one.id) ? changeOf(one) : unchanged(one)));
      return target.write(bodies, ifMatch).catch((error) => {
        throw hasStatus(error, 404, 412) ? error : new RejectedBookings(error, bodies);
      });
    };
    const newEtag = await write(change, etag);
    const changed = targetOf({ ...chosen, booking: { ...chosen.booking, ...change(chosen.booking) } });
    return async () => {
      await ifUnchanged(changed, () => write(unchanged, newEtag));
    };
  });
}

export const cancelBookings = (chosen: ChosenBookings): Promise<void> => {
  const target = targetOf(chosen);
  return removeIfUnchanged(target, target.remove);
};

const keys = new Map<string, string>();

/** Sends the same Idempotency-Key for the same body, so a lost response does not lead to a second resource. */
export async function sendOnce<Result>(
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

export const makeBookings = (bookings: readonly CreateBooking[]): Promise<void> =>
  sendOnce(bookings, async (idempotencyKey) => {
    const [first] = bookings;
    if (first && bookings.length === 1) await api.bookings.create(first, { idempotencyKey });
    else await api.groups.create({ bookings: [...bookings] }, { idempotencyKey });
  }).catch((error) => {
    throw new RejectedBookings(error, bookings);
  });
