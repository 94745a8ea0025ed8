// Searches bookings: reads one page, and counts all bookings of the search. A last page that is not full needs no
// count, because the total is the number of bookings up to the end of this page.
import { offsetOf, type PageRequest, reconcileTotal } from '@bay-booking/common/page';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { type CountReader, createCountReader } from '../../changes/totals/reader.ts';
import type { PublicBooking } from '../booking.ts';
import { type Segment, searchStatements } from './statements.ts';
import type { Criteria } from './where.ts';

export interface SearchResult {
  readonly bookings: readonly PublicBooking[];
  readonly total: number;
}

export type SearchStore = ReturnType<typeof createSearchStore>;

export interface SearchOptions {
  readonly counts?: CountReader;
  /**
   * The maximum number of index entries that the database may read to find a page. For a page that needs more, `counts`
   * finds a part of the list that contains the page (a segment), and the database reads only this part.
   */
  readonly maxSkippedRows?: number;
}

export function createSearchStore(db: Queryable, options: SearchOptions = {}) {
  const { counts = createCountReader(db), maxSkippedRows = 12_000 } = options;

  async function readPage(criteria: Criteria, pageSize: number, offset: number, segment: Segment | undefined) {
    const { firstPage, laterPage, values } = searchStatements(criteria, segment);
    // The offset of a segment counts from the beginning of the segment.
    const skipped = segment?.offset ?? offset;
    const sql = skipped === 0 ? firstPage : laterPage;
    return query<PublicBooking>(db, sql, [...values, pageSize, skipped]);
  }

  async function findPage(criteria: Criteria, pageSize: number, offset: number) {
    // The statement reads the first `offset + pageSize` rows of each facility.
    const rowsToRead = (offset + pageSize) * criteria.facilities.length;
    const segment = rowsToRead > maxSkippedRows ? await counts.seek(criteria, offset, pageSize) : undefined;
    const bookings = await readPage(criteria, pageSize, offset, segment);
    // A segment without `to` reaches to the end of the list.
    if (bookings.length >= pageSize || !segment?.to) return bookings;
    // The segment has too few bookings, because some were deleted or moved after the counts were read. The page is read
    // again, now also from the bookings after the segment.
    return readPage(criteria, pageSize, offset, { ...segment, to: undefined });
  }

  async function countRows(criteria: Criteria): Promise<number> {
    const { count, values } = searchStatements(criteria);
    const [row] = await query<{ total: number }>(db, count, values);
    return row?.total ?? 0;
  }

  return {
    search: async (criteria: Criteria, request: PageRequest): Promise<SearchResult> => {
      const offset = offsetOf(request);
      const bookings = await findPage(criteria, request.pageSize, offset);
      // An empty page after the first one may lie beyond the end of the list, so it does not show the total.
      const isLastPage = bookings.length < request.pageSize && (bookings.length > 0 || offset === 0);
      if (isLastPage) return { bookings, total: offset + bookings.length };
      // `counts.count` returns undefined if the table booking_count does not contain the counts that this search needs.
      const counted = (await counts.count(criteria)) ?? (await countRows(criteria));
      // Bookings may have changed between the two statements, so the count may contradict the page.
      return { bookings, total: reconcileTotal(bookings.length, offset, counted) };
    },
  };
}
