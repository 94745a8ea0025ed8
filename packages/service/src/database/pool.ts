// Implements a pool with a limited number of connections. Our own queries use the pool directly. knex uses it through
// its option `connectionPool` (docs/decisions/0011-internals-of-knex-and-pg.md).
//
// A query takes 31 µs of CPU time with this pool, and 39 µs with tarn, the pool that knex uses by default. For every
// statement, tarn creates a promise, a timer and an asynchronous check. This pool returns an idle connection
// synchronously, and a single timer checks all timeouts.
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PooledConnection {
  /** Set by the pool while a caller uses the connection, so that a second release has no effect. */
  inUse: boolean;
  /** Set by the pool when the connection becomes idle, in ms of the monotonic clock. */
  idleSince: number;
  /** False after the connection to the server was lost. */
  readonly isUsable: boolean;
  /** Closes the connection if its current statement has run for too long. `now` is in ms of the monotonic clock. */
  closeIfOverdue(now: number): void;
  close(): Promise<void>;
}

export interface PoolOptions<Connection> {
  readonly max: number;
  readonly open: () => Promise<Connection>;
  /** How long a caller waits for a connection. */
  readonly acquireTimeoutMs: number;
  /** How long an unused connection stays open. */
  readonly idleTimeoutMs: number;
}

interface Waiter<Connection> {
  /** In ms of the monotonic clock. */
  readonly since: number;
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The events of a pool. The pool itself emits failures of connections. Through the pool, database.ts emits failures of
 * statements, and retries.
 */
interface PoolEvents {
  /** Opening a connection, waiting for a connection, or running a statement has failed. */
  failure: [error: unknown];
  retry: [];
}

/** The time between two checks of the timeouts. */
const checkIntervalMs = 250;
/** How long `destroy` waits, after the release of the last connection, until all connections are closed. */
const closeTimeoutMs = 5_000;

export class Pool<Connection extends PooledConnection> extends EventEmitter<PoolEvents> {
  readonly max: number;
  readonly #options: PoolOptions<Connection>;
  readonly #waiters: Waiter<Connection>[] = [];
  readonly #open = new Set<Connection>();
  /**
   * The open connections that nobody uses, sorted by the time of their release. The pool takes connections from the end
   * of this array, so the first connection has been idle for the longest time.
   */
  readonly #idle: Connection[] = [];
  readonly #closing = new Set<Promise<void>>();
  #openingCount = 0;
  /** Set by the first call of `destroy`. From then on, released and newly opened connections are closed. */
  #destroyed: Promise<void> | undefined;
  /** Called when no connection is open or being opened. `destroy` sets this function, and waits until it is called. */
  #onEmpty: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions<Connection>) {
    super();
    this.#options = options;
    this.max = options.max;
  }

  // knex recognises a pool by these methods. They have the same names as in tarn, the default pool of knex.
  numUsed = (): number => this.#open.size - this.#idle.length;
  numFree = (): number => this.#idle.length;
  numPendingAcquires = (): number => this.#waiters.length;

  /** Returns an idle connection. If there is none, returns undefined: the caller must then call `acquire` and wait. */
  takeIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (!connection) return undefined;
      if (connection.isUsable) {
        connection.inUse = true;
        return connection;
      }
      this.#close(connection);
    }
  }

  /**
   * Waits for a connection. Returns an object with a promise, as tarn does, the default pool of knex. The promise
   * rejects with a TimeoutError after the acquire timeout, or with the error that occurred while a connection was
   * opened.
   */
  acquire(): { readonly promise: Promise<Connection> } {
    const connection = this.takeIdle();
    if (connection) return { promise: Promise.resolve(connection) };
    if (this.#destroyed) return { promise: Promise.reject(destroyedError()) };
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    this.#waiters.push({ since: performance.now(), resolve, reject });
    this.#openMissing();
    return { promise };
  }

  /** Returns false if the connection had already been released. A `broken` connection is closed and not used again. */
  release(connection: Connection, broken = false): boolean {
    if (!connection.inUse) return false;
    connection.inUse = false;
    if (broken || this.#destroyed || !connection.isUsable) {
      this.#close(connection);
      this.#openMissing();
    } else this.#offer(connection);
    return true;
  }

  /**
   * Rejects all callers that wait for a connection. Resolves when all connections have been released and closed. If
   * closing takes longer than `closeTimeoutMs`, resolves then.
   */
  destroy(): Promise<void> {
    this.#destroyed ??= this.#destroy();
    return this.#destroyed;
  }

  async #destroy(): Promise<void> {
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    for (const { reject } of this.#waiters.splice(0)) reject(destroyedError());
    for (const connection of this.#idle.splice(0)) this.#close(connection);
    this.#notifyIfEmpty();
    await empty;
    clearInterval(this.#timer);
    // Waits for the connections to close, for at most `closeTimeoutMs`.
    const cancelSleep = new AbortController();
    await Promise.race([
      Promise.all(this.#closing),
      sleep(closeTimeoutMs, undefined, { signal: cancelSleep.signal }).catch(() => {}),
    ]);
    cancelSleep.abort();
  }

  /** Gives the connection to the caller that has waited for the longest time. If nobody waits, makes it idle. */
  #offer(connection: Connection): void {
    const waiter = this.#waiters.shift();
    if (waiter) {
      connection.inUse = true;
      waiter.resolve(connection);
    } else {
      connection.idleSince = performance.now();
      this.#idle.push(connection);
    }
  }

  /** Opens a connection for each waiting caller, up to the maximum number of connections. */
  #openMissing(): void {
    this.#timer ??= setInterval(() => this.#checkTimeouts(), checkIntervalMs).unref();
    while (this.#openingCount < this.#waiters.length && this.#open.size + this.#openingCount < this.max) {
      this.#openingCount += 1;
      this.#options.open().then(
        (connection) => this.#handleOpened(connection),
        (error: unknown) => this.#handleOpenFailure(error),
      );
    }
  }

  #handleOpened(connection: Connection): void {
    this.#openingCount -= 1;
    this.#open.add(connection);
    if (this.#destroyed) this.#close(connection);
    else this.#offer(connection);
  }

  #handleOpenFailure(error: unknown): void {
    this.#openingCount -= 1;
    this.emit('failure', error);
    // Opening a connection fails, for example, if the server has reached its own maximum number of connections. If
    // other connections are open, callers continue to wait for one of them. Otherwise, each failure rejects one caller.
    if (this.#open.size === 0) {
      this.#waiters.shift()?.reject(error);
      this.#openMissing();
    }
    this.#notifyIfEmpty();
  }

  #close(connection: Connection): void {
    this.#open.delete(connection);
    const closing = connection
      .close()
      .catch(() => {})
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    this.#notifyIfEmpty();
  }

  /** Lets `destroy` continue if no connection is open or being opened. */
  #notifyIfEmpty(): void {
    if (this.#open.size + this.#openingCount === 0) this.#onEmpty?.();
  }

  /**
   * Rejects callers that have waited for a connection for too long. Closes connections whose statement has run for too
   * long, and connections that have been idle for too long.
   */
  #checkTimeouts(): void {
    const now = performance.now();
    const { acquireTimeoutMs, idleTimeoutMs } = this.#options;
    for (const connection of this.#open) connection.closeIfOverdue(now);
    while (this.#waiters[0] && now - this.#waiters[0].since > acquireTimeoutMs) {
      const error = Object.assign(new Error('no connection to the database became free in time'), {
        name: 'TimeoutError',
      });
      this.emit('failure', error);
      this.#waiters.shift()?.reject(error);
    }
    while (this.#idle[0] && now - this.#idle[0].idleSince > idleTimeoutMs) {
      const connection = this.#idle.shift();
      if (connection) this.#close(connection);
    }
    // An earlier attempt to open a connection may have failed. If callers still wait, this opens connections for them.
    this.#openMissing();
    if (this.#open.size + this.#openingCount === 0 && this.#waiters.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

/** `isUnavailable` (errors.ts) recognises the beginning of the message, which knex uses for a closed database too. */
function destroyedError(): Error {
  return new Error('Unable to acquire a connection: the database is closed');
}
