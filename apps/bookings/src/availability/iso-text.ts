// Writes instants in the format of responses, such as 2026-12-01T08:00:00.000Z.
//
// A page of availability has thousands of instants, most of them whole minutes that other bays and requests have too.
// Their texts are cached. Together with the garbage collection that this saves, toISOString took a quarter of the CPU
// time of such a page.
const minute = 60_000;
/** A month has 45 000 minutes. */
const maxTexts = 50_000;

const textOf = new Map<number, string>();

/** `instant` is in milliseconds since 1970. */
export function isoText(instant: number): string {
  const cached = textOf.get(instant);
  if (cached !== undefined) return cached;
  const text = new Date(instant).toISOString();
  if (instant % minute === 0) {
    if (textOf.size >= maxTexts) textOf.clear();
    textOf.set(instant, text);
  }
  return text;
}
