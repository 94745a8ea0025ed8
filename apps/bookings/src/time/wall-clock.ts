// Converts a wall-clock time to an instant, also when the clocks change.
import type { Temporal } from 'temporal-polyfill';

/** A time that the clocks skip becomes the instant after the gap. If a time occurs twice, `choice` selects one. */
export function instantOf(local: Temporal.PlainDateTime, timeZone: string, choice: 'earlier' | 'later'): number {
  const zoned = local.toZonedDateTime(timeZone, { disambiguation: choice });
  if (zoned.toPlainDateTime().equals(local)) return zoned.epochMilliseconds;
  // `later`: the first skipped time becomes the instant of the change, and every other one a later instant.
  // 1 ms is added, because `getTimeZoneTransition('previous')` finds only changes before the given instant.
  const afterChange = local.toZonedDateTime(timeZone, { disambiguation: 'later' }).add({ milliseconds: 1 });
  // The clocks of this time zone do change, so a change is always found. `??` is only for the type checker.
  return afterChange.getTimeZoneTransition('previous')?.epochMilliseconds ?? zoned.epochMilliseconds;
}
