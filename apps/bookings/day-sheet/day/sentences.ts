// Describes changes and problems of the API in sentences that name the bay, the time and the other party.
import type { Problem } from '@bay-booking/client';
import { weekdays } from '../../src/opening-hours/hours.ts';
import { describeMetadataChange } from './customer.ts';
import { bayNameOf, type Day, nameOf, type SheetBooking } from './day.ts';
import { clockAt, timeOf } from './time.ts';

export type RequestedBooking = Pick<SheetBooking, 'bayId' | 'startDate' | 'endDate' | 'externalBookingId'> & {
  readonly id?: string;
};

/** An error of the page itself that is already a sentence. `field` is the field of the form that it belongs to. */
export class SentenceError extends Error {
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

/** Somebody else has changed or removed the resource since the user saw it. `current` is undefined if it is gone. */
export class ChangedMeanwhile extends SentenceError {
  readonly current: object | undefined;

  constructor(message: string, current: object | undefined) {
    super(message);
    this.current = current;
  }
}

/** The service rejected a request for bookings. Its problems name positions in `requested`. */
export class RejectedBookings extends Error {
  readonly requested: readonly RequestedBooking[];

  constructor(cause: unknown, requested: readonly RequestedBooking[]) {
    super('the request was rejected', { cause });
    this.requested = requested;
  }
}

export const titleOf = (weekday: string): string => weekday.charAt(0).toUpperCase() + weekday.slice(1);

const labels: Readonly<Record<string, string>> = {
  userAlias: 'name',
  bayId: 'bay',
  bayIds: 'list of bays',
  startDate: 'start',
  endDate: 'end',
  externalBookingId: 'reference',
  reason: 'reason',
  name: 'name',
  description: 'description',
  service: 'state',
  groupId: 'group',
  metadata: 'customer data',
  exceptions: 'list of exceptions',
  ...Object.fromEntries(weekdays.map((weekday) => [weekday, `entry for ${titleOf(weekday)}`])),
};

/** Says how a field has changed, such as `the bay from Bay 1 to Bay 4`. */
export function describeChange(field: string, before: unknown, after: unknown, day: Day): string {
  if (field === 'metadata') return describeMetadataChange(before, after);
  // Groups have no names.
  if (field === 'groupId') return before === after ? '' : after ? 'now in a group' : 'no longer in the group';
  const shown = (value: unknown): string => {
    if (value === null || value === undefined || value === '') return field === 'bayIds' ? 'all bays' : 'nothing';
    if (field === 'bayId' || field === 'bayIds')
      return [value]
        .flat()
        .map((id) => bayNameOf(day, String(id)))
        .join(', ');
    if (field.endsWith('Date')) return timeOf(String(value), day);
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  const [from, to] = [shown(before), shown(after)];
  return from === to ? '' : `the ${labels[field] ?? field} from ${from} to ${to}`;
}

/** Says what differs between two versions of a resource, in the fields that the page shows. */
export const changesBetween = (before: object, after: object, day: Day): string =>
  Object.keys(labels)
    .map((field) => describeChange(field, Reflect.get(before, field), Reflect.get(after, field), day))
    .filter(Boolean)
    .join(', ');

/** The API names a field such as `bookings[0].userAlias` or `weekly.monday[0].closes`. */
const fieldOf = ({ contextData }: Problem): string =>
  String(contextData.field ?? '')
    .replace(/^bookings\[\d+\]\.|^weekly\./, '')
    .replace(/\[.*/, '');

function generalSentence(problem: Problem): string {
  const { code, description, moreInfo } = problem;
  const label = `The ${labels[fieldOf(problem)] ?? fieldOf(problem)}`;
  const sentences: Readonly<Record<string, string>> = {
    ERR00001: `${label} is missing.`,
    // `moreInfo` begins with the name of the field in the body.
    ERR00002: `${label} is not valid: ${moreInfo.replace(/^\S+: /, '')}.`,
    ERR00010: 'The end must be after the start.',
    ERR00011: 'This time is in the past.',
    ERR00012: 'This bay does not exist any more. Reload the page.',
    ERR00403: 'Your account may not do this here. Ask an owner of the facility for the right.',
    ERR00404: 'Somebody else removed this.',
    ERR00412: 'Somebody else has changed this since. Nothing was saved.',
    ERR00429: 'Too many requests. Wait a minute and try again.',
  };
  return sentences[code] ?? `${description} ${moreInfo}`.trim();
}

/** Describes a problem with one of the requested bookings. `found` are the bookings that the service has in the way. */
export function sentencesOf(
  problem: Problem,
  day: Day,
  requested: readonly RequestedBooking[] = [],
  found: readonly SheetBooking[] = [],
): string[] {
  const { code, contextData, moreInfo } = problem;
  const one = requested[Number(contextData.index ?? 0)];
  const bay = one ? bayNameOf(day, one.bayId) : 'The bay';
  if (code === 'BOOK00001')
    return [`The reference ${one?.externalBookingId ?? ''} is already used by another booking.`];
  if (code === 'BOOK00002') {
    const others = found.filter((other) => !requested.some(({ id }) => id === other.id));
    const held = contextData.heldUntil;
    if (others.length > 0)
      return others.map(
        (other) => `${bay} is booked from ${clockAt(other.startDate, day.timeZone)} by ${nameOf(other)}.`,
      );
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

/** The fields of the form for errors whose problem does not name a field. */
const fieldsOfCodes: Readonly<Record<string, string>> = {
  BOOK00001: 'externalBookingId',
  BOOK00002: 'bayId',
  BOOK00003: 'bayId',
};

/** The field of the form that a problem belongs to. */
export const formFieldOf = (problem: Problem): string => fieldsOfCodes[problem.code] ?? fieldOf(problem);

export interface Description {
  /** The field of the form that the error belongs to, if there is one. */
  readonly field?: string | undefined;
  readonly text: string;
  /** The position of the requested booking. */
  readonly index?: number;
  /** Whether the same request can succeed later. */
  readonly isOutage?: boolean;
}
