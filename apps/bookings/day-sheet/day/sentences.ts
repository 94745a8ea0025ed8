// Describes errors of the API in sentences that name the bay, the time and the other party.
import { BookingsApiError, BookingsTokenError, type Problem } from '@bay-booking/client';
import { doOverlap, intervalOf } from '../../src/time/interval.ts';
import { client, isConnectionProblem, stepUp } from '../api.ts';
import { bayNameOf, type Day, findBookings, type SheetBooking } from './day.ts';
import { clockAt, type DayTimes, shortDateAt } from './time.ts';

/** What the user wanted to book, close or change. A request for a group has several. */
export interface Wanted {
  readonly id?: string;
  readonly bayId: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly externalBookingId?: string | undefined;
}

/** An error of the page itself that is already a sentence. `field` is the field of the form that it belongs to. */
export class SentenceError extends Error {
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

/** The service rejected a request with several bookings. The errors name positions in `wanted`. */
export class RejectedRequest extends Error {
  readonly wanted: readonly Wanted[];

  constructor(cause: unknown, wanted: readonly Wanted[]) {
    super('the request was rejected', { cause });
    this.wanted = wanted;
  }
}

const noConnection = 'There is no connection to the service. What you typed is still here: try again later.';
const unreachable = 'The authorization server does not respond. What you typed is still here: try again later.';

/** `18:00–19:00`, with dates if the booking is not within the day of the sheet. */
export function timesOf({ startDate, endDate }: Pick<Wanted, 'startDate' | 'endDate'>, day: DayTimes): string {
  const [from, to] = [clockAt(startDate, day.timeZone), clockAt(endDate, day.timeZone)];
  // A big day has thousands of bookings, and formatting their dates too would take half of the time of drawing.
  if (Date.parse(startDate) >= day.start && Date.parse(endDate) <= day.end) return `${from}–${to}`;
  const [first, last] = [shortDateAt(startDate, day.timeZone), shortDateAt(endDate, day.timeZone)];
  return first === last ? `${first} ${from}–${to}` : `${first} ${from}–${last} ${to}`;
}

/** Says from when a bay is booked and by whom. */
const takenSentence = (day: Day, { bayId, startDate, userAlias }: SheetBooking): string =>
  `${bayNameOf(day, bayId)} is booked from ${clockAt(startDate, day.timeZone)} by ${userAlias}.`;

/** Finds the bookings in the way, by the index of the wanted booking. */
async function findConflicts(wanted: readonly Wanted[]): Promise<ReadonlyMap<number, readonly SheetBooking[]>> {
  const sortedOf = (field: 'startDate' | 'endDate') => wanted.map((one) => one[field]).sort();
  const found = await findBookings(client, [...new Set(wanted.map(({ bayId }) => bayId))], {
    startDate: sortedOf('startDate')[0] ?? '',
    endDate: sortedOf('endDate').at(-1) ?? '',
  });
  const own = new Set(wanted.map(({ id }) => id));
  return new Map(
    wanted.map((one, index) => [
      index,
      found.filter(
        (other) => other.bayId === one.bayId && !own.has(other.id) && doOverlap(intervalOf(other), intervalOf(one)),
      ),
    ]),
  );
}

const labels: Readonly<Record<string, string>> = {
  userAlias: 'The name',
  externalBookingId: 'The reference',
  bayId: 'The bay',
  bayIds: 'The list of bays',
  startDate: 'The start',
  endDate: 'The end',
  reason: 'The reason',
};

/** The field of the error in the body of the request, without its position in a list. */
const fieldOf = ({ contextData }: Problem): string => String(contextData.field ?? '').replace(/^bookings\[\d+\]\./, '');

function generalSentence(problem: Problem): string {
  const { code, description, moreInfo } = problem;
  const label = labels[fieldOf(problem)] ?? fieldOf(problem);
  const sentences: Readonly<Record<string, string>> = {
    ERR00001: `${label} is missing.`,
    ERR00002: `${label} is not valid${moreInfo ? `: ${moreInfo}` : ''}.`,
    ERR00010: 'The end must be after the start.',
    ERR00011: 'This time is in the past.',
    ERR00012: 'This bay does not exist any more. Reload the page.',
    ERR00403: 'Your account may not do this here. Ask an owner of the range for the right.',
    ERR00404: 'Someone else removed this.',
    ERR00412: 'Someone else changed this. Close the form and open it again to see the change.',
    ERR00429: 'Too many requests. Wait a minute and try again.',
    CLOS00001: 'The range has 1000 closures that have not ended. Remove some of them first.',
  };
  return sentences[code] ?? `${description} ${moreInfo}`.trim();
}

async function sentencesOf(
  problem: Problem,
  day: Day,
  wanted: readonly Wanted[],
  findAll: () => ReturnType<typeof findConflicts>,
) {
  const { code, contextData, moreInfo } = problem;
  const index = typeof contextData.index === 'number' ? contextData.index : 0;
  const one = wanted[index];
  const bay = one ? bayNameOf(day, one.bayId) : 'The bay';
  if (code === 'BOOK00001')
    return [`The reference ${one?.externalBookingId ?? ''} is already used by another booking.`];
  if (code === 'BOOK00002') {
    const others = (await findAll()).get(index) ?? [];
    const held = contextData.heldUntil;
    if (others.length > 0) return others.map((other) => takenSentence(day, other));
    return [held ? `${bay} is held until ${clockAt(String(held), day.timeZone)}.` : `${bay} is taken at this time.`];
  }
  if (code === 'BOOK00003') {
    const reason = contextData.closure ?? moreInfo;
    if (!reason) return [`${bay} is not bookable.`];
    if (moreInfo === 'closed') return [`${bay} is outside the opening hours at this time.`];
    return [`${bay} is closed at this time${reason === 'blocked' ? '' : `: ${reason}`}.`];
  }
  return [generalSentence(problem)];
}

/** The fields of the form that an error belongs to. */
const fieldsOfCodes: Readonly<Record<string, string>> = {
  BOOK00001: 'externalBookingId',
  BOOK00002: 'bayId',
  BOOK00003: 'bayId',
  ERR00010: 'endDate',
  ERR00011: 'endDate',
  ERR00012: 'bayId',
};

export interface Description {
  /** The field of the form that the error belongs to, if there is one. */
  readonly field?: string | undefined;
  readonly text: string;
  /** The position of the wanted booking. */
  readonly index: number;
}

/** Describes an error. Leaves the page for auth if the error asks for a step-up. */
export async function describeError(
  error: unknown,
  day: Day,
  wanted: readonly Wanted[] = [],
): Promise<readonly Description[]> {
  if (error instanceof RejectedRequest) return describeError(error.cause, day, error.wanted);
  try {
    await stepUp(error);
  } catch {
    return [{ text: unreachable, index: 0 }];
  }
  if (error instanceof SentenceError) return [{ text: error.message, field: error.field, index: 0 }];
  if (error instanceof BookingsApiError && error.problems.length > 0) {
    let conflicts: ReturnType<typeof findConflicts> | undefined;
    const findAll = () => {
      // If the bookings in the way cannot be read, the sentence does not name them.
      conflicts ??= findConflicts(wanted).catch(() => new Map());
      return conflicts;
    };
    const described = error.problems.map(async (problem) => {
      const texts = await sentencesOf(problem, day, wanted, findAll);
      const index = Number(problem.contextData.index ?? 0);
      return texts.map((text) => ({ text, index, field: fieldsOfCodes[problem.code] ?? fieldOf(problem) }));
    });
    return (await Promise.all(described)).flat();
  }
  if (isConnectionProblem(error)) return [{ text: noConnection, index: 0 }];
  if (error instanceof BookingsTokenError) return [{ text: unreachable, index: 0 }];
  return [{ text: `This did not work: ${error instanceof Error ? error.message : String(error)}.`, index: 0 }];
}

const changedFields = ['userAlias', 'bayId', 'startDate', 'endDate', 'externalBookingId'] as const;

/** Says what differs between two versions of a booking, for example after a 412. */
export function differences(before: SheetBooking, after: SheetBooking, day: Day): string {
  const shown = (field: (typeof changedFields)[number], { [field]: value = 'none' }: SheetBooking) =>
    field === 'bayId' ? bayNameOf(day, value) : field.endsWith('Date') ? shortTime(value, day) : value;
  return changedFields
    .filter((field) => before[field] !== after[field])
    .map((field) => `${labels[field]?.toLowerCase()} from ${shown(field, before)} to ${shown(field, after)}`)
    .join(', ');
}

export function shortTime(time: string, day: DayTimes): string {
  const isOfDay = Date.parse(time) >= day.start && Date.parse(time) <= day.end;
  const clock = clockAt(time, day.timeZone);
  return isOfDay ? clock : `${shortDateAt(time, day.timeZone)} ${clock}`;
}
