// Finds the hold that a booking uses up and checks that the booking fits into the hold.
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldStore } from '../holds/store.ts';
import { parseDates } from '../time/date-times.ts';
import { contains, intervalOf } from '../time/interval.ts';

interface HoldUse {
  readonly holdId?: string;
  readonly bayId?: string;
  readonly startDate?: string;
  readonly endDate?: string;
}

/** A missing hold is not an error: it can have expired, but the bay may still be free. */
export async function findHold(holds: HoldStore, body: HoldUse, caller: Caller) {
  const hold = body.holdId === undefined ? undefined : await holds.find(body.holdId, caller);
  return { hold, holdErrors: hold ? findErrors(hold, body) : [] };
}

function findErrors(hold: Hold, { bayId, startDate, endDate }: HoldUse): ValidationError[] {
  const invalid = (hint: string): ValidationError[] => [{ field: 'holdId', kind: 'invalid', hint }];
  if (bayId !== undefined && bayId !== hold.bayId) return invalid('the hold is for another bay');
  const { start, end } = parseDates({ startDate, endDate });
  // The booking's validation reports missing and invalid times.
  if (!start || !end || end < start) return [];
  return contains(intervalOf(hold), { start: start.getTime(), end: end.getTime() })
    ? []
    : invalid('the hold does not contain the interval of the booking');
}
