// How often may one client ask? A fixed window of a minute per name, in this process; the number of names kept is bounded.

const namesAtMost = 10_000;

/** Answers 0, or the seconds to wait. `perMinute` 0 is no limit. */
export function createRateLimit(perMinute: number, now: () => number = Date.now): (name: string) => number {
  let window = 0;
  let counts = new Map<string, number>();
  return (name) => {
    if (perMinute === 0) return 0;
    const current = Math.floor(now() / 60_000);
    if (current !== window || counts.size >= namesAtMost) {
      window = current;
      counts = new Map();
    }
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count > perMinute ? Math.max(1, Math.ceil(((window + 1) * 60_000 - now()) / 1000)) : 0;
  };
}
