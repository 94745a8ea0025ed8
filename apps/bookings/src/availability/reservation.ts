// Validates the bay and times of a booking or hold request and finds the bay's facility.
import { type Dates, parseDates } from '@bay-booking/common/date-times';
import type { ApiProblem } from '@bay-booking/common/errors';
import { isText } from '@bay-booking/common/text';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config.ts';
import { problemOf, problemsOf } from '../errors.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import type { Period } from '../time/interval.ts';
import type { Conflict } from './rule.ts';

export interface Bay {
  readonly facilityId: string;
  readonly bayId: string;
}

export interface Reservation {
  /** Undefined if the facilities of the token do not have the bay. */
  readonly bay: Bay | undefined;
  /** In the format of responses. Undefined if a date is missing or invalid, or if the end is before the start. */
  readonly times: Period | undefined;
  /** Undefined if the request has an error. */
  readonly valid: (Bay & Period) | undefined;
  readonly problems: readonly ApiProblem[];
}

/** `requestErrors` are earlier validation errors. The body can be incomplete. */
export async function validateReservation(
  { bayId, startDate, endDate }: Partial<Period> & { readonly bayId?: string },
  requestErrors: readonly ValidationError[],
  { facilities }: Caller,
  { catalogue, config, now }: { catalogue: Catalogue; config: BookingLimits; now: Date },
): Promise<Reservation> {
  const dates = parseDates({ startDate, endDate });
  const { start, end, isReversed } = dates;
  const bay = bayId === undefined ? undefined : await findBay(bayId, facilities, catalogue);
  const problems = problemsOf([...requestErrors, ...findLimitErrors({ start, end }, config, now)]);
  for (const code of findDateErrors(dates, now)) problems.push(problemOf(code));
  if (bayId !== undefined && !bay) problems.push(problemOf('ERR00012'));
  const times =
    start && end && !isReversed ? { startDate: start.toISOString(), endDate: end.toISOString() } : undefined;
  return { bay, times, valid: problems.length === 0 && bay && times ? { ...bay, ...times } : undefined, problems };
}

/** The end may equal the start. */
export function findDateErrors({ end, isReversed }: Dates, now: Date) {
  const codes: ('ERR00010' | 'ERR00011')[] = [];
  if (isReversed) codes.push('ERR00010');
  if (end && end < now) codes.push('ERR00011');
  return codes;
}

async function findBay(bayId: string, facilities: readonly string[], catalogue: Catalogue): Promise<Bay | undefined> {
  // PostgreSQL cannot store some of the strings that `isText` rejects, so they are not looked up.
  if (!isText(bayId)) return undefined;
  const facilityId = (await catalogue.findFacilities('bays', facilities, [bayId])).get(bayId);
  return facilityId === undefined ? undefined : { facilityId, bayId };
}

/** Each problem has this `contextData`. */
export function problemsOfReservation(
  { problems }: Reservation,
  conflicts: readonly Conflict[],
  contextData: ApiProblem['contextData'] = {},
): readonly ApiProblem[] {
  const conflictProblems = conflicts.map(({ code, moreInfo, context }) => ({ ...problemOf(code, context), moreInfo }));
  const all = [...problems, ...conflictProblems];
  return all.map((problem) => ({ ...problem, contextData: { ...contextData, ...problem.contextData } }));
}

/** The limits of bookings and holds, in hours and in days of 24 hours. The value 0 switches a limit off. */
export type BookingLimits = Pick<Config, 'maxBookingHours' | 'maxDaysAhead'>;

const hourMs = 3_600_000;

function findLimitErrors(
  { start, end }: { readonly start: Date | undefined; readonly end: Date | undefined },
  { maxBookingHours, maxDaysAhead }: BookingLimits,
  now: Date,
): readonly ValidationError[] {
  const hints: string[] = [];
  if (maxBookingHours > 0 && start && end && end.getTime() - start.getTime() > maxBookingHours * hourMs) {
    hints.push(`a booking must not be longer than ${maxBookingHours} hours`);
  }
  if (maxDaysAhead > 0 && end && end.getTime() - now.getTime() > maxDaysAhead * 24 * hourMs) {
    hints.push(`a booking must not end later than ${maxDaysAhead} days from now`);
  }
  return hints.map((hint) => ({ field: 'endDate', kind: 'invalid', hint }));
}
