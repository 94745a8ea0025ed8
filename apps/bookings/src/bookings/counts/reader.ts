// How many bookings does a long list hold, and where in it does a page lie, without walking through it? Sums of counts that are kept by
// whoever writes a booking (docs/decisions, 8). ReadRouter only.
import { type Database, query } from '@bay-booking/service/database/database';
import type { Place } from '../search/statements.ts';
import type { Criteria } from '../search/where.ts';
import {
  binsStatement,
  type CountStatement,
  countedKind,
  goingOnStatement,
  lengthOf,
  spansOf,
  startedBeforeStatement,
  totalStatement,
} from './statements.ts';

/** Nothing is booked before or after. */
const [dawn, dusk] = [new Date(-8.64e15), new Date(8.64e15)];

interface Bin {
  readonly begins: Date;
  readonly n: number;
}

export function createCountStore(db: Database) {
  const sum = async ({ sql, bindings }: CountStatement): Promise<number> =>
    (await query<{ total: number }>(db, sql, bindings))[0]?.total ?? 0;

  /** The bin that holds the row after `rank` others, and where the one ends that holds the last of `size` rows from there on,
   * unless the list ends before. */
  const walk = async (criteria: Criteria, rank: number, size: number) => {
    let [from, to, before] = [dawn, dusk, 0];
    let end: Date | undefined;
    for (const span of spansOf(criteria)) {
      const { sql, bindings } = binsStatement(criteria, span, from, to);
      const bins = await query<Bin>(db, sql, bindings);
      let passed = before;
      const first = bins.findIndex(({ n }) => {
        if (passed + n > rank) return true;
        passed += n;
        return false;
      });
      const bin = bins[first];
      // Each length is counted a moment after the longer one, which holds what its parts have lost since.
      if (!bin) return from === dawn ? undefined : { from, to: end, before };
      before = passed;
      let counted = before;
      const last = bins.slice(first).find(({ n }) => {
        counted += n;
        return counted >= rank + size;
      });
      const endOf = ({ begins }: Bin): Date => new Date(begins.getTime() + lengthOf(span));
      if (last) end = endOf(last);
      [from, to] = [bin.begins, endOf(bin)];
    }
    return { from, to: end, before };
  };

  const nowhere: Place = { from: dusk, to: undefined, offset: 0 };

  const locateOpen = async (criteria: Criteria, offset: number, size: number): Promise<Place | undefined> => {
    if (offset === 0) return undefined;
    const moment = criteria.time?.start ?? criteria.now;
    const goingOn = await sum(goingOnStatement(criteria, moment, undefined));
    // Among what is going on, which comes first.
    if (offset < goingOn) return undefined;
    const rank = offset - goingOn + (await sum(startedBeforeStatement(criteria, moment)));
    const bin = await walk(criteria, rank, size);
    if (!bin) return nowhere;
    return { from: bin.from, to: bin.to, offset: bin.from > moment ? rank - bin.before : offset - goingOn };
  };

  const locateOver = async (criteria: Criteria, offset: number, size: number): Promise<Place> => {
    // What is going on is no part of the list, but of the counts.
    const goingOn = await sum(goingOnStatement(criteria, criteria.now, undefined));
    const bin = await walk(criteria, offset, size + goingOn);
    if (!bin) return nowhere;
    const goingOnBefore = await sum(goingOnStatement(criteria, criteria.now, bin.from));
    return { from: bin.from, to: bin.to, offset: offset - bin.before + goingOnBefore };
  };

  return {
    total: async (criteria: Criteria): Promise<number> => {
      const statement = totalStatement(criteria);
      if (!statement) throw new Error('these criteria are not counted');
      return sum(statement);
    },

    /** Where the page after `offset` rows lies; undefined where it is found as well from the beginning. */
    locate: async (criteria: Criteria, offset: number, size: number): Promise<Place | undefined> => {
      const kind = countedKind(criteria);
      if (kind === 'open') return locateOpen(criteria, offset, size);
      if (kind === 'over') return locateOver(criteria, offset, size);
      const bin = await walk(criteria, offset, size);
      return bin ? { from: bin.from, to: bin.to, offset: offset - bin.before } : nowhere;
    },
  };
}
