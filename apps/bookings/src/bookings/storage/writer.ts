// In how many statements is a booking written? In one, which counts it as well; where tables may be spread in two of one transaction, for
// Citus takes a statement that writes two tables apart and carries what lies between to the coordinator (docs/operations/scale.md).
import { type Database, query } from '@bay-booking/service/database/database';
import { inTransaction, type Statement } from '@bay-booking/service/database/transaction';
import type { Booking } from '../booking.ts';
import type { ListedBooking } from '../search/store.ts';
import { wireTypes } from './row-date-times.ts';
import { writes } from './statements.ts';

export interface BookingRow extends ListedBooking {
  readonly facility_id: string;
  readonly version: number;
}

/** What a statement that counts nothing itself tells of the row for it to be counted. */
export interface UncountedRow extends BookingRow {
  readonly location_id: string;
  readonly hour: string;
}

interface ChangedRow extends UncountedRow {
  readonly old_location_id: string;
  readonly old_hour: string;
}

/** The first of these answers a row when the booking is in. */
export function insertionOf(booking: Booking, isSpread: boolean): [Statement, ...Statement[]] {
  const { facilityId, bayId, id, externalBookingId, correlationId, userAlias, version } = booking;
  const texts = [facilityId, bayId, id, externalBookingId ?? null, correlationId ?? null, userAlias];
  const values = [...texts, booking.startDate, booking.endDate, booking.createdAt, booking.lastUpdatedAt, version];
  if (!isSpread) return [[writes.create, values]];
  return [
    [writes.book, values],
    [writes.count, [facilityId, id, version]],
  ];
}

/** The booking as it is now, if it was there and may be changed so. */
export const writeChange = (
  db: Database,
  values: readonly unknown[],
  isSpread: boolean,
): Promise<BookingRow | undefined> => (isSpread ? changeAndCount(db, values) : changeAtOnce(db, values));

async function changeAtOnce(db: Database, values: readonly unknown[]): Promise<BookingRow | undefined> {
  const [row] = await query<BookingRow>(db, writes.update, values, wireTypes);
  return row;
}

function changeAndCount(db: Database, values: readonly unknown[]): Promise<BookingRow | undefined> {
  return inTransaction(db, async (run) => {
    const [[row]] = await run<[ChangedRow[]]>([writes.change, values, wireTypes]);
    if (!row || (row.location_id === row.old_location_id && row.hour === row.old_hour)) return row;
    const was = { location_id: row.old_location_id, hour: row.old_hour };
    await run(counting(row, row.version, -1, was), counting(row, row.version, 1, row));
    return row;
  });
}

/** Answers the row that was there; where tables may be spread, `countOut` is to follow. */
export const removalOf = (values: readonly unknown[], isSpread: boolean): Statement => [
  isSpread ? writes.takeOut : writes.remove,
  values,
  wireTypes,
];

export const countOut = (row: UncountedRow): Statement => counting(row, row.version + 1, -1, row);

/** `n` more where a booking starts. */
const counting = (
  { facility_id, id }: BookingRow,
  version: number,
  n: 1 | -1,
  { location_id, hour }: Pick<UncountedRow, 'location_id' | 'hour'>,
): Statement => [writes.countChange, [facility_id, id, version, n, location_id, hour]];

export function toBooking(row: BookingRow): Booking {
  return {
    id: row.id,
    facilityId: row.facility_id,
    externalBookingId: row.external_booking_id ?? undefined,
    correlationId: row.correlation_id ?? undefined,
    bayId: row.bay_id,
    userAlias: row.user_alias,
    startDate: row.start_date,
    endDate: row.end_date,
    createdAt: row.created_at,
    lastUpdatedAt: row.last_updated_at,
    version: row.version,
  };
}
