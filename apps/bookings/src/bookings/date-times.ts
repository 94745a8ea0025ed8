// When is it? Date-times of the wire: RFC 3339 with a zone in, UTC with milliseconds and Z out; digits beyond are cut, so that order
// and "back to back" survive. Specification, "Booking"; contract section 7. Pure.

const form = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

export const dateTimeHint =
  'must be a date-time with a zone, such as 2026-01-31T09:00:00.000Z (in an address, + is written %2B)';

const lengthAtMost = 256;

/** Undefined for anything but a real date and time of the years 1 to 9999. */
export function parseDateTime(text: string): Date | undefined {
  const match = text.length <= lengthAtMost ? form.exec(text) : null;
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHour, offsetMinute] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return undefined;
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const local = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  // Date rolls the 30th of February over into March.
  if (Number.isNaN(local.getTime()) || local.getUTCDate() !== Number(day)) return undefined;
  const offset = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * (sign === '-' ? -60_000 : 60_000);
  const instant = new Date(local.getTime() - offset);
  const instantYear = instant.getUTCFullYear();
  return instantYear >= 1 && instantYear <= 9999 ? instant : undefined;
}

export function isDateTime(text: string): boolean {
  return parseDateTime(text) !== undefined;
}

export type TimeFault = 'ERR00010' | 'ERR00011';

/** Both may hold. An end that is the start is an instant, and allowed. */
export function timeFaults(start: Date | undefined, end: Date | undefined, now: Date): readonly TimeFault[] {
  return [
    ...(start && end && end < start ? (['ERR00010'] as const) : []),
    ...(end && end < now ? (['ERR00011'] as const) : []),
  ];
}
