// Classifies errors of PostgreSQL and of the connection to it.

/**
 * `conflict`: the same transaction may succeed when it is repeated. `connection`: the connection cannot be used again.
 * `outage`: the server rejects connections. `busy`: another cause that usually disappears after a moment.
 */
type Kind = 'conflict' | 'connection' | 'outage' | 'busy';

/** SQLSTATEs, their classes, and codes of network errors. The first match counts. */
const kindsOfCodes: readonly (readonly [RegExp, Kind])[] = [
  // Serialization failure, deadlock, and an error of Citus: the rows have just moved to another node.
  [/^(40001|40P01|CIINF)$/, 'conflict'],
  // Connection exceptions, operator intervention (such as a shutdown), and idle_in_transaction_session_timeout.
  [/^(08|57P|25P03)/, 'connection'],
  [/^(ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN)|EADDRNOTAVAIL)$/, 'connection'],
  // A statement was sent while the connection broke.
  [/^(ERR_STREAM_DESTROYED|ERR_STREAM_WRITE_AFTER_END|ERR_SOCKET_CLOSED)$/, 'connection'],
  // Failed authentication, insufficient resources (such as too many connections), and a missing database.
  [/^(28|53|3D000)/, 'outage'],
  // A lock timeout, a statement timeout, a server that became a standby, and one that accepts no connections now.
  [/^(55P03|57014|25006|55000)$/, 'busy'],
  // Errors outside PostgreSQL, and internal errors. Citus reports a lost worker so.
  [/^(58|XX000)/, 'busy'],
];

/** Matches connection errors and timeouts of pg, pg-pool and knex that have no code. */
const connectionErrors = new RegExp(
  [
    'Connection terminated',
    'not queryable',
    'timeout exceeded when trying to connect',
    'Cannot use a pool after calling end',
    'Unable to acquire a connection',
  ].join('|'),
);

function kindOf(error: unknown): Kind | undefined {
  const code = errorCode(error);
  if (code !== undefined) return kindsOfCodes.find(([pattern]) => pattern.test(code))?.[1];
  if (!Error.isError(error)) return undefined;
  if (connectionErrors.test(error.message)) return 'connection';
  return error.name === 'TimeoutError' ? 'busy' : undefined;
}

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
export const isUnavailable = (error: unknown): boolean =>
  errorsMarkedAsUnavailable.has(error as object) || kindOf(error) !== undefined;

/** Whether the connection cannot be used again after the error. */
export const isConnectionError = (error: unknown): boolean => kindOf(error) === 'connection';

/** Whether the server is unreachable or rejects connections. */
export const isOutage = (error: unknown): boolean => ['connection', 'outage'].includes(kindOf(error) ?? '');

export const isTransactionConflict = (error: unknown): boolean => kindOf(error) === 'conflict';
