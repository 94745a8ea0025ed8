// Counts the bookings of long lists, and finds pages deep inside them, without reading all of their bookings.
//
// Every list reports its exact total, and clients may request any page. Counting a million index entries takes 100 ms,
// and skipping them takes longer. The service therefore maintains counts of bookings by location and by start.
//
// ## Tables
//
// `booking_change` is a log. Every transaction that writes a booking also appends to the log: `1` for the location and
// the hour in which the booking starts now, and `-1` for those in which it no longer starts. Appending takes no lock,
// so the counts never make two requests wait for each other.
//
// `booking_count` contains bins. A bin is the number of bookings that start within 768, 24 or 1 hours. It begins at a
// multiple of its length since 1970 in UTC, so it does not depend on a calendar or a time zone. Each facility has bins
// of all three lengths, and each location has bins of the two longer ones.
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
// 2. the shorter bins from there to the beginning of its hour (of its day for locations),
// 3. the log up to the same hour,
// 4. the bookings in the rest of that hour, which an index counts.
//
// The number of bookings that start after an instant is calculated the same way. Bookings in progress are counted
// directly, because there is at most one of them per bay. Active bookings are those that start after now plus those in
// progress. Ended bookings are those that have started minus those in progress.
//
// Other searches cannot be counted. They name bookings, bays or an alias, or combine dates, and an index finds their
// few rows.
//
// ## seek
//
// `seek` finds the bin that contains the first booking of a page: among the longest bins first, then among the shorter
// bins inside that bin, and so on. It returns a segment of the list, which begins with this bin and ends with a bin
// that contains the last booking of the page. The segment says how many of its bookings come before the page.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { type CachedFlag, createCachedFlag } from '../../database/cached-flag.ts';
import type { Segment } from '../search/statements.ts';
import type { Criteria } from '../search/where.ts';
import {
  binsStatement,
  type CountStatement,
  countStatement,
  inProgressStatement,
  isCountComplete,
  kindOf,
  spanLength,
  spansOf,
  startedStatement,
} from './statements.ts';

const minDate = new Date(-8.64e15);
const maxDate = new Date(8.64e15);
const emptySegment: Segment = { from: maxDate, to: undefined, offset: 0 };

interface Bin {
  readonly begins: Date;
  readonly n: number;
}

/** A range of bins. `before` is the number of bookings that start before it. */
interface BinRange {
  readonly from: Date;
  readonly to: Date | undefined;
  readonly before: number;
}

export type CountReader = ReturnType<typeof createCountReader>;

/** Whether every booking has been counted. The counts are not used before that (docs/operations/upgrade.md). */
export function createCompleteFlag(db: Queryable): CachedFlag {
  return createCachedFlag(db, isCountComplete);
}

export function createCountReader(db: Queryable, isComplete = createCompleteFlag(db)) {
  return {
    /** The exact number of bookings of a list; undefined if the list cannot be counted. */
    count: async (criteria: Criteria): Promise<number | undefined> => {
      const kind = kindOf(criteria);
      if (!kind || !(await isComplete())) return undefined;
      return sum(countStatement(criteria, kind));
    },

    /** The segment of the page after `offset` bookings; undefined if it must be searched from the beginning. */
    seek: async (criteria: Criteria, offset: number, pageSize: number): Promise<Segment | undefined> => {
      const kind = kindOf(criteria);
      if (!kind || !(await isComplete())) return undefined;
      if (kind === 'from') return seekFrom(criteria, offset, pageSize);
      if (kind === 'ended') return seekEnded(criteria, offset, pageSize);
      const range = await findBins(criteria, offset, pageSize);
      return range ? { from: range.from, to: range.to, offset: offset - range.before } : emptySegment;
    },
  };

  async function sum({ sql, values }: CountStatement): Promise<number> {
    return (await query<{ total: number }>(db, sql, values))[0]?.total ?? 0;
  }

  /** The list begins with the bookings in progress at an instant. Those that start later follow. */
  async function seekFrom(criteria: Criteria, offset: number, pageSize: number): Promise<Segment | undefined> {
    if (offset === 0) return undefined;
    const instant = criteria.time?.start ?? criteria.now;
    const inProgress = await sum(inProgressStatement(criteria, instant, undefined));
    if (offset < inProgress) return undefined;
    const started = await sum(startedStatement(criteria, instant));
    const rank = started + offset - inProgress;
    const range = await findBins(criteria, rank, pageSize);
    if (!range) return emptySegment;
    // If the first bin contains the instant, the list has only its bookings from the instant on.
    return { from: range.from, to: range.to, offset: range.from > instant ? rank - range.before : offset - inProgress };
  }

  /** The bins include the bookings in progress, which are not in the list. */
  async function seekEnded(criteria: Criteria, offset: number, pageSize: number): Promise<Segment> {
    const inProgress = await sum(inProgressStatement(criteria, criteria.now, undefined));
    const range = await findBins(criteria, offset, pageSize + inProgress);
    if (!range) return emptySegment;
    const inProgressBefore = await sum(inProgressStatement(criteria, criteria.now, range.from));
    return { from: range.from, to: range.to, offset: offset - range.before + inProgressBefore };
  }

  /**
   * Finds the shortest bin that contains booking number `rank`, counted from 0 among all bookings, and the end of a bin
   * that contains the last of the `size` bookings from there on. Undefined if there are fewer bookings.
   */
  async function findBins(criteria: Criteria, rank: number, size: number): Promise<BinRange | undefined> {
    let [from, to, before] = [minDate, maxDate, 0];
    let end: Date | undefined;
    for (const span of spansOf(criteria)) {
      const endOf = ({ begins }: Bin): Date => new Date(begins.getTime() + spanLength(span));
      const { sql, values } = binsStatement(criteria, span, from, to);
      const bins = await query<Bin>(db, sql, values);
      const position = positionOf(bins, rank - before);
      const first = bins[position.index];
      // The longer bin was read earlier. Bookings may have been deleted since, so the shorter bins can have fewer.
      if (!first) return from === minDate ? undefined : { from, to: end, before };
      before += position.before;
      const rest = bins.slice(position.index);
      const last = rest[positionOf(rest, rank - before + size - 1).index];
      if (last) end = endOf(last);
      [from, to] = [first.begins, endOf(first)];
    }
    return { from, to: end, before };
  }
}

/**
 * The index of the bin that contains booking number `rank` of these bins, and the number of bookings before that bin.
 */
function positionOf(bins: readonly Bin[], rank: number): { readonly index: number; readonly before: number } {
  let before = 0;
  const index = bins.findIndex(({ n }) => {
    if (before + n > rank) return true;
    before += n;
    return false;
  });
  return { index, before };
}
