// Counts the bookings of long lists, and finds pages far from the beginning of a list, without reading all bookings
// before the page.
//
// Every list reports its exact total, and clients may request any page. Counting a million index entries takes 100 ms,
// and skipping them takes longer. The service therefore maintains counts of bookings by location and by start.
//
// ## Tables
//
// `booking_change` is a log. Every transaction that writes a booking also appends to the log: `1` for the location and
// the hour in which the booking starts, and `-1` for the location and the hour in which it started before the change.
// Appending takes no lock, so the counts never make two requests wait for each other.
//
// `booking_count` contains the numbers of bookings that start in each bin. A bin is a period of 768, 24 or 1 hours. It
// begins at a multiple of its length since 1970 in UTC, so it does not depend on a calendar or a time zone. Each
// facility has bins of all three lengths, in rows with an empty location id. Each location has bins of the two longer
// lengths.
//
// Compaction (compaction.ts) regularly deletes rows of the log and adds them to the bins, in one statement. Bins plus
// log are therefore exact in every snapshot of the database, no matter which rows have been compacted.
//
// ## count
//
// The total of all bookings is the sum of the longest bins plus the log. The number of bookings that start before an
// instant is the sum of
//
// 1. the longest bins that end before the instant,
// 2. the shorter bins that follow, up to the beginning of the hour that contains the instant (for locations: the day),
// 3. the rows of the log up to the beginning of this hour or day,
// 4. the bookings between the beginning of this hour or day and the instant, which an index finds.
//
// The number of bookings that start after an instant is calculated the same way. Bookings in progress are counted
// directly, because each bay has at most one. The number of active bookings is the number that start after now plus the
// number in progress. The number of ended bookings is the number that have started minus the number in progress.
//
// The bins cannot count the results of other searches: those that name bookings, bays or an alias, or that combine
// dates. Such searches find few rows, and an index finds these rows.
//
// ## seek
//
// `seek` finds the bin that contains the first booking of a page: among the longest bins first, then among the shorter
// bins inside that bin, and so on. It returns a segment of the list, which begins with this bin and ends with a bin
// that contains the last booking of the page. The segment says how many of its bookings come before the page.
import { type Queryable, query } from '@bay-booking/service/database/database';
import type { Segment } from '../../bookings/search/statements.ts';
import type { Criteria } from '../../bookings/search/where.ts';
import { type CachedFlag, createCachedFlag } from '../../database/cached-flag.ts';
import {
  binsStatement,
  type CountStatement,
  completeFlagQuery,
  countStatement,
  inProgressStatement,
  kindOf,
  spanLength,
  spansOf,
  startedStatement,
} from './statements.ts';

// The first and the last instant that a Date can represent
const minDate = new Date(-8.64e15);
const maxDate = new Date(8.64e15);
/** A segment that contains no booking. */
const emptySegment: Segment = { from: maxDate, to: undefined, offset: 0 };

interface Bin {
  readonly begins: Date;
  /** The number of bookings that start in the bin. */
  readonly n: number;
}

/** A range of bins. Undefined `to`: the range has no end. */
interface BinRange {
  readonly from: Date;
  readonly to: Date | undefined;
  /** The number of bookings that start before the range. */
  readonly before: number;
}

export type CountReader = ReturnType<typeof createCountReader>;

/** Whether every booking has been counted. The counts are used only if this is true (docs/operations/upgrade.md). */
export function createCompleteFlag(db: Queryable): CachedFlag {
  return createCachedFlag(db, completeFlagQuery);
}

export function createCountReader(db: Queryable, isComplete = createCompleteFlag(db)) {
  return {
    /**
     * Returns the exact number of bookings of a list. Undefined if the table booking_count is not complete yet, or if
     * it has no counts for such a list (for example, a search for an alias).
     */
    count: async (criteria: Criteria): Promise<number | undefined> => {
      const kind = kindOf(criteria);
      if (!kind || !(await isComplete())) return undefined;
      return sum(countStatement(criteria, kind));
    },

    /**
     * Finds the page that begins after the first `offset` bookings of the list. Returns a part of the list (a segment)
     * that contains this page, or undefined if the page must be read from the beginning of the list.
     */
    seek: async (criteria: Criteria, offset: number, pageSize: number): Promise<Segment | undefined> => {
      const kind = kindOf(criteria);
      if (!kind || !(await isComplete())) return undefined;
      // `from`: bookings that are in progress at an instant or start later. `ended`: bookings that have ended.
      if (kind === 'from') return seekFrom(criteria, offset, pageSize);
      if (kind === 'ended') return seekEnded(criteria, offset, pageSize);
      // All other lists begin with the earliest booking, like the numbers of `findBins`. `offset` needs no correction.
      const range = await findBins(criteria, offset, pageSize);
      return range ? { from: range.from, to: range.to, offset: offset - range.before } : emptySegment;
    },
  };

  async function sum({ sql, values }: CountStatement): Promise<number> {
    return (await query<{ total: number }>(db, sql, values))[0]?.total ?? 0;
  }

  /** Counts the bookings in progress at an instant: all of them, or those that start before `startsBefore`. */
  function countInProgress(criteria: Criteria, instant: Date, startsBefore?: Date): Promise<number> {
    return sum(inProgressStatement(criteria, instant, startsBefore));
  }

  /**
   * Finds a page of a list with two parts: first the bookings in progress at an instant, and then the bookings that
   * start later.
   */
  async function seekFrom(criteria: Criteria, offset: number, pageSize: number): Promise<Segment | undefined> {
    if (offset === 0) return undefined;
    const instant = criteria.time?.start ?? criteria.now;
    const inProgress = await countInProgress(criteria, instant);
    // If the page begins with bookings in progress, it is near the beginning of the list, and is read without bins.
    if (offset < inProgress) return undefined;
    const started = await sum(startedStatement(criteria, instant));
    // The number of the first booking of the page, if all bookings are numbered by their start, from 0.
    const rank = started + offset - inProgress;
    const range = await findBins(criteria, rank, pageSize);
    if (!range) return emptySegment;
    // If the first bin contains `instant`, the segment leaves out the bookings that start before `instant` or at it.
    // The offset is then the number of bookings that start after `instant` and come before the page.
    return { from: range.from, to: range.to, offset: range.from > instant ? rank - range.before : offset - inProgress };
  }

  /**
   * Finds a page of the ended bookings. The bins of `booking_count` count bookings by their start. They therefore also
   * count the bookings in progress, which are not in the list.
   */
  async function seekEnded(criteria: Criteria, offset: number, pageSize: number): Promise<Segment> {
    const inProgress = await countInProgress(criteria, criteria.now);
    // Among the ended bookings, the first booking of the page has the number `offset`. `findBins` also counts the
    // bookings in progress. At most `inProgress` of them start before that booking, so its number for `findBins` is at
    // least `offset` and at most `offset + inProgress`.
    const range = await findBins(criteria, offset, pageSize + inProgress);
    if (!range) return emptySegment;
    const inProgressBefore = await countInProgress(criteria, criteria.now, range.from);
    return { from: range.from, to: range.to, offset: offset - range.before + inProgressBefore };
  }

  /**
   * Finds the part of the list that contains the bookings number `rank` to `rank + size - 1`. Bookings are numbered by
   * their start, from 0. The part begins with the shortest bin that contains the first of these bookings, and ends with
   * a bin that contains the last. Returns undefined if the list has no booking number `rank`.
   */
  async function findBins(criteria: Criteria, rank: number, size: number): Promise<BinRange | undefined> {
    // The first booking of the page starts between these two instants. Before the first step, they enclose the whole
    // list. Each step moves them to the beginning and the end of a shorter bin that contains the booking.
    let [firstFrom, firstTo] = [minDate, maxDate];
    // The number of bookings that start before `firstFrom`
    let before = 0;
    // The end of a bin that contains the last booking of the page. Undefined if the list ends before this booking. A
    // step changes this variable only if one of the bins that it reads contains the last booking of the page.
    let lastTo: Date | undefined;
    for (const span of spansOf(criteria)) {
      const endOf = ({ begins }: Bin): Date => new Date(begins.getTime() + spanLength(span));
      const { sql, values } = binsStatement(criteria, span, firstFrom, firstTo);
      const bins = await query<Bin>(db, sql, values);
      const first = findBin(bins, rank - before);
      const last = findBin(bins, rank + size - 1 - before);
      // No bin contains booking number `rank`. In the first step (`firstFrom` is still `minDate`), this means that the
      // list has fewer bookings. In a later step, it means that bookings were deleted after the previous step. This
      // function then returns the range that the previous step has found.
      if (!first) return firstFrom === minDate ? undefined : { from: firstFrom, to: lastTo, before };
      before += first.before;
      if (last) lastTo = endOf(last.bin);
      [firstFrom, firstTo] = [first.bin.begins, endOf(first.bin)];
    }
    return { from: firstFrom, to: lastTo, before };
  }
}

/**
 * Returns the bin that contains booking number `rank`, and the number of bookings in the bins before it. The first
 * booking of the first bin has the number 0. Returns undefined if there is no booking with the number `rank`.
 */
function findBin(bins: readonly Bin[], rank: number): { readonly bin: Bin; readonly before: number } | undefined {
  let before = 0;
  for (const bin of bins) {
    if (before + bin.n > rank) return { bin, before };
    before += bin.n;
  }
  return undefined;
}
