// How does a value become jsonb? PostgreSQL's text holds no NUL, which anybody can put into a parameter, so strings lose theirs.

/** How JSON writes a NUL; what a longer escape holds is found too, and costs the second look only. */
const nul = '\\u0000';

export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(nul)) return text;
  return JSON.stringify(value, (_key, entry) => (typeof entry === 'string' ? entry.replaceAll('\0', '') : entry));
}
