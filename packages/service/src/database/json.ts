// Converts a value to JSON text for a column of type jsonb.

const escapedNul = '\\u0000';

/**
 * Removes NUL characters from strings. Any parameter of a request may contain them, but PostgreSQL cannot store them in
 * text.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(escapedNul)) return text;
  return JSON.stringify(value, (_key, entry) => (typeof entry === 'string' ? entry.replaceAll('\0', '') : entry));
}
