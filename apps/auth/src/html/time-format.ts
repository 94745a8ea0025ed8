// Formats times and durations for pages and e-mails.

/**
 * Formats a time like `5 Mar 2026, 10:00 UTC`, or in the time zone of a facility. `textWithoutZone` is for tables,
 * whose page names the time zone once. If not `keepsZone`, browser/page.js converts the time to the user's time zone.
 */
export const formatTime = (date: Date, timeZone?: string) => {
  const zone = timeZone ?? 'UTC';
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: zone });
  const textWithoutZone = format.format(date);
  const text = `${textWithoutZone} ${zone}`;
  return { iso: date.toISOString(), text, textWithoutZone, keepsZone: timeZone !== undefined };
};

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

/** Formats a duration without rounding, in the largest unit that divides it: `1 hour`, `90 minutes`, `7 days`. */
export function formatDuration(seconds: number): string {
  const [size, unit] = units.find(([length]) => seconds >= length && seconds % length === 0) ?? [1, 'second'];
  const amount = seconds / size;
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`;
}

/** Formats a waiting time. From a minute on, the time is rounded up to full minutes: `45 seconds`, `2 minutes`. */
export const formatWait = (seconds: number): string =>
  formatDuration(seconds < 60 ? seconds : Math.ceil(seconds / 60) * 60);
