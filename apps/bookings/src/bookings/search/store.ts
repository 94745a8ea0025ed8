// How are bookings found? One statement for the page and, where the page does not tell it, one for the total, which long lists sum up
// from counts. ReadRouter only.
import { offsetOf, type PageRequest, reconcileTotal } from '@bay-booking/common/page';
import { type Database, query } from '@bay-booking/service/database/database';
import { type CachedFlag, createCachedFlag } from '../../database/cached-flag.ts';
import { createCountStore } from '../counts/reader.ts';
import { countedKind } from '../counts/statements.ts';
import { wireTypes } from '../storage/row-date-times.ts';
import { countReads } from '../storage/statements.ts';
import { type Place, searchStatements } from './statements.ts';
import type { Criteria } from './where.ts';

/** Times are as on the wire. */
export interface ListedBooking {
  readonly id: string;
  readonly external_booking_id: string | null;
  readonly correlation_id: string | null;
  readonly bay_id: string;
  readonly user_alias: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface Found {
  readonly bookings: readonly ListedBooking[];
  readonly total: number;
}

export type SearchStore = ReturnType<typeof createSearchStore>;

export interface SearchOptions {
  /** Whether totals are told by the counts (docs/decisions, 8). */
  readonly isComplete?: CachedFlag;
  /** So many entries of an index are walked past sooner than the counts are asked where a page lies. */
  readonly walkedAtMost?: number;
}

export function createSearchStore(db: Database, options: SearchOptions = {}) {
  const { isComplete = createCachedFlag(db, countReads.isComplete), walkedAtMost = 12_000 } = options;
  const counts = createCountStore(db);
  const pageOf = async (criteria: Criteria, { pageSize }: PageRequest, offset: number, counted: boolean) => {
    const walked = (offset + pageSize) * criteria.facilities.length;
    const place = counted && walked > walkedAtMost ? await counts.locate(criteria, offset, pageSize) : undefined;
    const bookings = await readPage(criteria, pageSize, offset, place);
    if (bookings.length >= pageSize || !place?.to) return bookings;
    // What was counted there may have gone since: what follows moves up.
    return readPage(criteria, pageSize, offset, { ...place, to: undefined });
  };
  const readPage = (criteria: Criteria, pageSize: number, offset: number, place: Place | undefined) => {
    const { firstPage, laterPage, bindings } = searchStatements(criteria, place);
    const skip = place?.offset ?? offset;
    const text = skip === 0 ? firstPage : laterPage;
    return query<ListedBooking>(db, text, [...bindings, pageSize, skip], wireTypes);
  };
  return {
    search: async (criteria: Criteria, request: PageRequest): Promise<Found> => {
      const offset = offsetOf(request);
      const counted = countedKind(criteria) !== undefined && (await isComplete());
      const bookings = await pageOf(criteria, request, offset, counted);
      // A page that is neither full nor past the end tells the total.
      if (bookings.length < request.pageSize && (bookings.length > 0 || offset === 0)) {
        return { bookings, total: offset + bookings.length };
      }
      return { bookings, total: reconcileTotal(bookings.length, offset, await countAll(criteria, counted)) };
    },
  };
  async function countAll(criteria: Criteria, counted: boolean): Promise<number> {
    if (counted) return counts.total(criteria);
    const { count, bindings } = searchStatements(criteria);
    const [row] = await query<{ total: number }>(db, count, bindings);
    return row?.total ?? 0;
  }
}
