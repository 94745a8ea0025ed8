// A circuit breaker: after a failure it stops all calls for a while, then lets a single call probe whether the replica
// works again.
//
// The circuit stays open for 0.1 s after the first failure, twice as long after each further one, and 5 s at most. A
// replica that is down for long therefore costs almost nothing.

/** A call that was allowed. It must end with exactly one of `succeed`, `fail` and `abandon`. */
export type Attempt = number;

export interface CircuitBreaker {
  /** Returns undefined if the call must not be made. */
  begin(): Attempt | undefined;
  succeed(attempt: Attempt): void;
  fail(attempt: Attempt): void;
  /** Ends an attempt that neither proves that the replica works nor that it has failed. */
  abandon(attempt: Attempt): void;
}

const minOpenMilliseconds = 100;
const maxOpenMilliseconds = 5_000;

/** `now` is a monotonic clock in milliseconds. */
export function createCircuitBreaker(now: () => number = () => performance.now()): CircuitBreaker {
  // An attempt is the number of failures before it. Attempts from before the latest failure change nothing, so that
  // calls which fail together count once.
  let failures = 0;
  /** 0 while the circuit is closed. */
  let openMilliseconds = 0;
  let openUntil = 0;
  let isProbing = false;
  return {
    begin: () => {
      if (openMilliseconds === 0) return failures;
      if (isProbing || now() < openUntil) return undefined;
      isProbing = true;
      return failures;
    },
    succeed: (attempt) => {
      if (attempt !== failures) return;
      openMilliseconds = 0;
      isProbing = false;
    },
    fail: (attempt) => {
      if (attempt !== failures) return;
      failures += 1;
      openMilliseconds = Math.min(maxOpenMilliseconds, Math.max(minOpenMilliseconds, openMilliseconds * 2));
      openUntil = now() + openMilliseconds;
      isProbing = false;
    },
    abandon: (attempt) => {
      if (attempt === failures) isProbing = false;
    },
  };
}
