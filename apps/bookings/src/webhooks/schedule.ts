// Calculates when a failed delivery is attempted again (docs/behaviour.md, "Webhooks").
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The delay after the first, second … failed attempt, in milliseconds. */
const delays = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const;

/** A webhook whose attempts have only failed for this long is disabled. */
export const maxFailingTime = 5 * day;

/**
 * The time of the next attempt, or undefined after the last one. `Retry-After` can delay the attempt by a day at most,
 * and never brings it forward. Every delay varies by 10 %, so that the attempts of many deliveries are distributed.
 */
export function nextAttemptAt(attempts: number, now: Date, retryAfter?: string): Date | undefined {
  const delay = delays[attempts - 1];
  if (delay === undefined) return undefined;
  const varied = delay * (0.9 + Math.random() * 0.2);
  const requested = Math.min(retryAfterMilliseconds(retryAfter, now), day);
  return new Date(now.getTime() + Math.max(varied, requested));
}

/** Reads the two forms of RFC 9110 section 10.2.3: seconds, or a date. 0 for any other value. */
function retryAfterMilliseconds(value: string | undefined, now: Date): number {
  if (value === undefined) return 0;
  if (/^\d+$/.test(value)) return Number(value) * second;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(date - now.getTime(), 0);
}
