// Calculates when a failed delivery is attempted again (docs/behaviour.md, "Webhooks"). Durations are in milliseconds.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The delays after the first, second, third … failed attempt. */
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

/** Each delay varies by this share, so that not all deliveries are attempted again at the same time. */
const jitter = 0.1;

/** A webhook is disabled when all its attempts have failed for this time. */
export const maxFailingTime = 5 * day;

/**
 * Returns the time of the next attempt, or undefined after the last one. `attempts` is the number of failed attempts.
 * `retryAfter` is the header `Retry-After` of the last response. The header can make a delay longer, up to a day, but
 * not shorter.
 */
export function nextAttemptAt(attempts: number, now: Date, retryAfter?: string): Date | undefined {
  const delay = delays[attempts - 1];
  if (delay === undefined) return undefined;
  const variedDelay = delay * (1 - jitter + 2 * jitter * Math.random());
  const requestedDelay = Math.min(retryAfterMilliseconds(retryAfter, now), day);
  return new Date(now.getTime() + Math.max(variedDelay, requestedDelay));
}

/** Parses both forms of Retry-After: seconds, or a date (RFC 9110 section 10.2.3). Returns 0 for any other value. */
function retryAfterMilliseconds(value: string | undefined, now: Date): number {
  if (value === undefined) return 0;
  if (/^\d+$/.test(value)) return Number(value) * second;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(date - now.getTime(), 0);
}
