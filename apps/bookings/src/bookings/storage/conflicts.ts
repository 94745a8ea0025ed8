// Finds what prevents the bookings of a request: their bays, other bookings, holds, closures and used external ids.
import { type Queryable, query, type Transaction } from '@bay-booking/service/database/database';
import { type Exceptions, type FoundBay, readBayStates } from '../../availability/bay-states.ts';
import { type Conflict, findConflicts } from '../../availability/rule.ts';
import { intervalOf } from '../../time/interval.ts';
import type { Booking, BookingUpdate, Draft } from '../booking.ts';
import { references } from './columns.ts';

export interface LookOptions extends Exceptions {
  /** Only bookings of these facilities make an external id used. Default: all bookings. */
  readonly referencesOf?: readonly string[] | undefined;
}

/** A draft, or a booking that is being written. */
export type Requested = Pick<Draft, 'id' | 'bay' | 'times' | 'current'> & {
  readonly body: Pick<Draft['body'], 'externalBookingId'>;
};

export const idUsed: Conflict = { code: 'BOOK00001', moreInfo: '' };

/**
 * Reads the bays of the requested bookings. If times are undefined, only the bay is checked. If the bay is undefined,
 * only the external id is checked. The bookings of one request also conflict with each other.
 */
export async function look(tx: Transaction, requestedBookings: readonly Requested[], options: LookOptions) {
  const externalIds = externalIdsOf(requestedBookings.flatMap(({ id, body }) => (id === undefined ? body : [])));
  const bays = new Map<Requested, FoundBay | undefined>();
  const reads = [...Map.groupBy(requestedBookings, ({ bay }) => bay?.facilityId)].map(
    async ([facilityId, requested]) => {
      if (facilityId === undefined) return;
      const wanted = requested.map(({ bay, times }) => ({ bayId: bay?.bayId ?? '', times }));
      const found = await readBayStates(tx, facilityId, wanted, options);
      for (const [index, booking] of requested.entries()) bays.set(booking, found[index]);
    },
  );
  const [used] = await Promise.all([findUsedIds(tx, externalIds, options.referencesOf), ...reads]);
  const intervals = requestedBookings.map(({ times }) => times && intervalOf(times));
  const bayOf = (index: number) => bays.get(requestedBookings[index] as Requested);
  const conflictsOf = (index: number, current: Booking | undefined): readonly Conflict[] => {
    const requested = requestedBookings[index] as Requested;
    const ignoresHoursAndClosures = current && keepsBayAndTimes(current, { ...requested.bay, ...requested.times });
    const externalId = requested.id === undefined ? requested.body.externalBookingId : undefined;
    const isUsed =
      externalId && (used.has(externalId) || externalIds.indexOf(externalId) !== externalIds.lastIndexOf(externalId));
    const conflicts = isUsed ? [idUsed] : [];
    if (!requested.bay) return conflicts;
    const bay = bayOf(index);
    const others = intervals.filter(
      (_interval, other) => other !== index && requestedBookings[other]?.bay?.bayId === requested.bay?.bayId,
    );
    const bookings = others.flatMap((interval) => interval ?? []);
    return [
      ...conflicts,
      ...findConflicts(bay && { ...bay, bookings: [...bay.bookings, ...bookings] }, intervals[index], {
        ignoresHoursAndClosures,
      }),
    ];
  };
  return { bayOf, conflictsOf };
}

/** In order, because all transactions write references in the same order. */
export function externalIdsOf(bookings: readonly { readonly externalBookingId?: string | null | undefined }[]) {
  return bookings.flatMap(({ externalBookingId }) => externalBookingId ?? []).sort();
}

export async function findUsedIds(
  on: Queryable,
  externalIds: readonly string[],
  facilities?: readonly string[],
): Promise<ReadonlySet<string | null>> {
  if (externalIds.length === 0) return new Set();
  const rows = await query<{ id: string; facilityId: string }>(on, references.find, [externalIds]);
  return new Set(rows.filter((row) => facilities?.includes(row.facilityId) !== false).map(({ id }) => id));
}

function keepsBayAndTimes(current: Booking, { bayId, startDate, endDate }: Partial<BookingUpdate>): boolean {
  return bayId === current.bayId && startDate === current.startDate && endDate === current.endDate;
}
