// How does a value become jsonb? PostgreSQL's text holds no NUL, which anybody can put into a parameter, so strings lose theirs.

export const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_key, entry) => (typeof entry === 'string' ? entry.replaceAll('\0', '') : entry));
