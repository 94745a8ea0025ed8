// Calculates the times of a booking that repeats every week at the same local time.

export interface WeeklyTimes {
  /** An IANA time zone such as `Europe/Copenhagen`. */
  readonly timeZone: string;
  /** The local start of the first week, such as `2026-10-19T18:00`. */
  readonly start: string;
  readonly end: string;
  readonly weeks: number;
}

export interface Times {
  readonly startDate: string;
  readonly endDate: string;
}

const maxWeeks = 520;
const dayMs = 86_400_000;
const localPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/;

/**
 * Returns the times of each week in UTC. If a local time occurs twice, the first one counts. If the clocks skip a local
 * time, the instant after the gap counts.
 *
 * @throws {RangeError} if a value is invalid, or if no time remains between the start and the end of a week
 */
export function weekly({ timeZone, start, end, weeks }: WeeklyTimes): Times[] {
  const [localStart, localEnd] = [parseLocal(start), parseLocal(end)];
  if (localEnd <= localStart) throw new RangeError('end must be after start');
  if (!Number.isInteger(weeks) || weeks < 1 || weeks > maxWeeks)
    throw new RangeError(`weeks must be an integer from 1 to ${maxWeeks}`);
  const toInstant = instantsIn(timeZone);
  return Array.from({ length: weeks }, (_, week) => {
    const [startDate, endDate] = [localStart, localEnd].map((local) =>
      new Date(toInstant(local + week * 7 * dayMs)).toISOString(),
    ) as [string, string];
    if (endDate <= startDate) throw new RangeError(`in ${timeZone}, no time remains in the week of ${startDate}`);
    return { startDate, endDate };
  });
}

/** Returns the local time in milliseconds since 1970, as if it were UTC. */
function parseLocal(text: string): number {
  const local = localPattern.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  // Date turns 30 February into a day in March.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(text.slice(0, 16)))
    throw new RangeError(`${text} is not a local time such as 2026-10-19T18:00`);
  return local;
}

/** Returns a function that converts a local time of the time zone to an instant. */
function instantsIn(timeZone: string): (local: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsetAt = (instant: number): number => {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day, hour, minute, second } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1_000) * 1_000;
  };
  return (local) => {
    // The clocks change at most once in two days.
    const [before, after] = [offsetAt(local - dayMs), offsetAt(local + dayMs)];
    const match = [local - before, local - after].find((instant) => instant + offsetAt(instant) === local);
    if (match !== undefined) return match;
    // The clocks skip this time. The loop halves the interval until only the instant of the change remains.
    let [earlier, later] = [local - after, local - before];
    while (later - earlier > 1) {
      const middle = Math.floor((earlier + later) / 2);
      if (offsetAt(middle) === after) later = middle;
      else earlier = middle;
    }
    return later;
  };
}
