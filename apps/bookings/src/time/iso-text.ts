// Writes instants in the format of responses, such as 2026-12-01T08:00:00.000Z.
//
// A page of availability has thousands of instants. Most of them are whole minutes, which also occur for other bays and
// in other requests, so the texts of whole minutes are cached. Without the cache, toISOString and the garbage
// collection that it causes took a quarter of the CPU time of such a page.

const minuteMs = 60_000;
/** The maximum number of cached texts, which is enough for the 45 000 minutes of a month. */
const maxTexts = 50_000;

const textOf = new Map<number, string>();

/** Converts an instant in milliseconds since 1970 to text. */
export function isoText(instant: number): string {
  const cached = textOf.get(instant);
  if (cached !== undefined) return cached;
  const text = new Date(instant).toISOString();
  if (instant % minuteMs === 0) {
    if (textOf.size >= maxTexts) textOf.clear();
    textOf.set(instant, text);
  }
  return text;
}
