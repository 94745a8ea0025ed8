// Converts a value to JSON text for a column of type jsonb.

const escapedNul = '\\u0000';

/**
 * PostgreSQL's text cannot contain NUL characters, which any request parameter may contain, so they are removed from
 * strings.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(escapedNul)) return text;
  return JSON.stringify(value, (_key, entry) => (typeof entry === 'string' ? entry.replaceAll('\0', '') : entry));
}
