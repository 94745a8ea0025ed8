// Classifies the errors of PostgreSQL and of the connection to it.

/** What takes back a whole transaction, and would not happen again at once: lost races; rows that moved to another node of a Citus cluster. */
export const lostRaces = new Set(['40001', '40P01', 'CIINF']);

const passing = new Set([
  ...lostRaces,
  '55P03',
  '57014',
  '25P03',
  '25006',
  // A server that lets nobody into the database for now, or does not know it (yet).
  '3D000',
  '55000',
  'XX000',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** The SQLSTATE of a PostgreSQL error or the code of a network error, if `error` is either. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/**
 * Whether the database could not be asked, or could not answer now, so that the same request may succeed in a moment (503 with
 * Retry-After): connection trouble, time-outs, shutdowns, too many connections, lost lock races, trouble outside of PostgreSQL such as a
 * Citus worker that went away while rows were copied to it (58030).
 */
export function isUnavailable(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined) return passing.has(code) || /^(08|28|53|57P|58)/.test(code);
  if (!Error.isError(error)) return false;
  return (
    error.name === 'KnexTimeoutError' ||
    error.name === 'TimeoutError' ||
    /Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Unable to acquire a connection/.test(
      error.message,
    )
  );
}
