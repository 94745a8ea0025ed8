// Classifies errors of PostgreSQL and of the connection to it.

/** SQLSTATEs of transactions that may succeed if repeated. */
const transactionConflicts = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  'CIINF', // an error of Citus: the rows have just moved to another node
]);

/** SQLSTATEs and network error codes whose cause is usually temporary. */
const transientErrors = new Set([
  ...transactionConflicts,
  '55P03', // lock_not_available: a lock timeout
  '57014', // query_canceled: a statement timeout
  '25P03', // idle_in_transaction_session_timeout
  '25006', // read_only_sql_transaction: the server has become a standby
  '3D000', // invalid_catalog_name: the database is being restored
  '55000', // object_not_in_prerequisite_state: the database does not accept connections now
  'XX000', // internal_error
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  // A statement was sent while the connection broke.
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_SOCKET_CLOSED',
]);

/**
 * Transient classes of SQLSTATEs: 08 connection exceptions, 28 failed authentication, 53 insufficient resources (such
 * as too many connections), 57P operator intervention (such as a shutdown) and 58 errors outside PostgreSQL (such as a
 * lost Citus worker).
 */
const transientClasses = /^(08|28|53|57P|58)/;

/** Matches connection errors and timeouts of pg, pg-pool and knex that have no code. */
const connectionErrors = new RegExp(
  [
    'Connection terminated',
    'not queryable',
    'Query read timeout',
    'timeout exceeded when trying to connect',
    'Cannot use a pool after calling end',
    'Unable to acquire a connection',
  ].join('|'),
);

const errorsMarkedAsUnavailable = new WeakSet<object>();

/** Makes `isUnavailable` return true for this error, whatever its code is. */
export function markAsUnavailable(error: unknown): void {
  if (typeof error === 'object' && error !== null) errorsMarkedAsUnavailable.add(error);
}

/** Returns a PostgreSQL error's SQLSTATE or a network error's code. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Whether the same request may succeed later. The response is then 503 with Retry-After. */
export function isUnavailable(error: unknown): boolean {
  if (errorsMarkedAsUnavailable.has(error as object)) return true;
  const code = errorCode(error);
  if (code !== undefined) return transientErrors.has(code) || transientClasses.test(code);
  if (!Error.isError(error)) return false;
  return error.name === 'TimeoutError' || connectionErrors.test(error.message);
}

/** Whether the connection cannot be used again after the error. */
export function isConnectionError(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined) return /^(08|57P|E)/.test(code);
  return Error.isError(error) && connectionErrors.test(error.message);
}

/** Whether the server is unreachable or rejects connections. */
export function isOutage(error: unknown): boolean {
  return isConnectionError(error) || /^(28|53|3D000)/.test(errorCode(error) ?? '');
}

export function isTransactionConflict(error: unknown): boolean {
  return transactionConflicts.has(errorCode(error) ?? '');
}
