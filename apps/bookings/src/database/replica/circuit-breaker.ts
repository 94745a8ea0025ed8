// When is a replica that has failed tried again? After a rest that doubles from failure to failure, by one read alone while the others go
// to the primary: a replica that is away for long costs next to nothing.

export interface Rest {
  /** Which try this is, or undefined while the replica rests. Each try ends with one of the others. */
  begin(): number | undefined;
  succeed(attempt: number): void;
  fail(attempt: number): void;
  /** It told nothing about the replica. */
  skip(attempt: number): void;
}

const shortest = 100;
const longest = 5_000;

export function createCircuitBreaker(monotonic: () => number = () => performance.now()): Rest {
  let attempt = 0;
  let length = 0;
  let until = 0;
  let probing = false;
  return {
    begin: () => {
      if (length === 0) return attempt;
      if (probing || monotonic() < until) return undefined;
      probing = true;
      return attempt;
    },
    succeed: (of) => {
      if (of !== attempt) return;
      length = 0;
      probing = false;
    },
    // Those that began together fail together, and count once.
    fail: (of) => {
      if (of !== attempt) return;
      attempt += 1;
      length = Math.min(longest, Math.max(shortest, length * 2));
      until = monotonic() + length;
      probing = false;
    },
    skip: (of) => {
      if (of === attempt) probing = false;
    },
  };
}
