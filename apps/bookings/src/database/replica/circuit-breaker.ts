// Implements a circuit breaker: after a failure it prevents all calls for a while. Then it allows a single call, which
// probes whether the replica works again.
//
// The circuit stays open for 0.1 s after the first failure, twice as long after each further failure, and 5 s at most.
// A replica that is down for long therefore delays almost no request.

/** A call that was allowed. It must end with exactly one of `succeed`, `fail` and `abandon`. */
export type Attempt = number;

export interface CircuitBreaker {
  /** Returns undefined if the call must not be made. */
  begin(): Attempt | undefined;
  succeed(attempt: Attempt): void;
  fail(attempt: Attempt): void;
  /** Ends an attempt that shows neither that the replica works nor that it has failed. */
  abandon(attempt: Attempt): void;
}

const minOpenMilliseconds = 100;
const maxOpenMilliseconds = 5_000;

/** `now` is a monotonic clock in milliseconds. */
export function createCircuitBreaker(now: () => number = () => performance.now()): CircuitBreaker {
  // The number of failures so far. An `Attempt` is this number at the time when the attempt began. If the number is
  // higher when the attempt ends, another attempt has failed in the meantime, and the result is ignored. Several
  // attempts that fail at the same time therefore count as one failure.
  let failures = 0;
  /** How long the circuit stays open after the latest failure. 0 while the circuit is closed. */
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
