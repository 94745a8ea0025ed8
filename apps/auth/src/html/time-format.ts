// Formats times and durations for pages and e-mails.

export interface FormattedTime {
  readonly iso: string;
  readonly text: string;
}

/** The same format as in browser/page.js, which then shows the time in the time zone of the user. */
const timeFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
  timeZoneName: 'short',
});

/** Formats a time like `5 Mar 2026, 10:00 UTC`. */
export const formatTime = (date: Date): FormattedTime => ({ iso: date.toISOString(), text: timeFormat.format(date) });

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

/** Formats a duration exactly, in the largest unit that divides it: `1 hour`, `90 minutes`, `7 days`. */
export function formatDuration(seconds: number): string {
  const [size, unit] = units.find(([length]) => seconds >= length && seconds % length === 0) ?? [1, 'second'];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Formats a waiting time. A time of more than a minute is rounded up to full minutes: `45 seconds`, `2 minutes`. */
export const formatWait = (seconds: number): string =>
  formatDuration(seconds < 60 ? seconds : Math.ceil(seconds / 60) * 60);
