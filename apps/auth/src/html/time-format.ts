// Formats times and durations for pages and e-mails.

export interface FormattedTime {
  readonly iso: string;
  readonly text: string;
}

/** Equal to the format in browser/page.js, which shows the time in the time zone of the viewer. */
const timeFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
  timeZoneName: 'short',
});

/** For example `5 Mar 2026, 10:00 UTC`. */
export const formatTime = (date: Date): FormattedTime => ({ iso: date.toISOString(), text: timeFormat.format(date) });

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

/** Exact, in the largest unit that divides the duration: `1 hour`, `90 minutes`, `7 days`. */
export function formatDuration(seconds: number): string {
  const [size, unit] = units.find(([length]) => seconds >= length && seconds % length === 0) ?? [1, 'second'];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Rounded up to full minutes from one minute on: `45 seconds`, `2 minutes`. */
export const formatWait = (seconds: number): string =>
  formatDuration(seconds < 60 ? seconds : Math.ceil(seconds / 60) * 60);
