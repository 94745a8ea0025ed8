// Converts a value to JSON text for a column of type jsonb.

/** The escape sequence with which JSON.stringify writes a NUL character. */
const escapedNul = '\\u0000';

/** Removes NUL characters from strings: parameters of requests may contain them, and PostgreSQL cannot store them. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(escapedNul)) return text;
  return JSON.stringify(value, (_key, entry) => (typeof entry === 'string' ? entry.replaceAll('\0', '') : entry));
}
