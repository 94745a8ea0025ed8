// Converts a value to JSON for a jsonb column.

/** JSON.stringify writes a NUL character as this escape sequence. */
const escapedNul = '\\u0000';

/** Removes NUL characters from strings: request parameters may contain them, but PostgreSQL cannot store them. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(escapedNul)) return text;
  return JSON.stringify(value, (_key, entry) => (typeof entry === 'string' ? entry.replaceAll('\0', '') : entry));
}
