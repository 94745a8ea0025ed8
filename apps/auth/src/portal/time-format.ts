// How are instants and spans told? In UTC with the zone named, which a small script of ours turns into the viewer's own time; the exact
// instant stays in the title. Pure. Contract section 5.

export interface Instant {
  readonly iso: string;
  readonly text: string;
}

const words = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

export const instant = (date: Date): Instant => ({ iso: date.toISOString(), text: `${words.format(date)} UTC` });

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

/** "1 hour", "90 minutes", "7 days": in the greatest unit that says it exactly. */
export function span(seconds: number): string {
  const [size, unit] = units.find(([length]) => seconds >= length && seconds % length === 0) ?? [1, 'second'];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
