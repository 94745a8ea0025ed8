// Who gets which connection? A bounded pool with what knex asks of one, from which an idle connection is had at once: a promise, a timer
// and a check for each statement would cost as much as all else about sending it.
import { EventEmitter } from 'node:events';

export interface Pooled {
  /** Whether somebody has it, so that nobody gives it back twice. */
  lent?: boolean;
}

export interface PoolOptions<Connection> {
  readonly max: number;
  readonly open: () => Promise<Connection>;
  readonly close: (connection: Connection) => Promise<void>;
  readonly isUsable: (connection: Connection) => boolean;
  /** Milliseconds to wait for a connection, and to keep one that nobody wants. */
  readonly waitAtMost: number;
  readonly idleAtMost: number;
}

interface Waiter<Connection> {
  readonly since: number;
  readonly take: (connection: Connection) => void;
  readonly refuse: (error: unknown) => void;
}

/** As knex has it, which callers know by its text. */
export const closed = () => new Error('Unable to acquire a connection: the database is closed');

const lookEvery = 250;
const closeAtMost = 5_000;

/** Tells of `createFail` and `acquireFail` with a number and the error, as tarn does. */
export class Pool<Connection extends Pooled> extends EventEmitter {
  readonly max: number;
  readonly #options: PoolOptions<Connection>;
  readonly #waiting: Waiter<Connection>[] = [];
  /** The last one given back is the first to go, so that the first of these has been idle longest. */
  readonly #free: Connection[] = [];
  readonly #freeSince: number[] = [];
  readonly #closing = new Set<Promise<void>>();
  #open = 0;
  #opening = 0;
  #ending: Promise<void> | undefined;
  #emptied: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions<Connection>) {
    super();
    this.#options = options;
    this.max = options.max;
  }

  numUsed = (): number => this.#open - this.#free.length;
  numFree = (): number => this.#free.length;
  numPendingAcquires = (): number => this.#waiting.length;
  numPendingCreates = (): number => this.#opening;

  /** An idle connection, if there is one. */
  take(): Connection | undefined {
    for (;;) {
      const connection = this.#free.pop();
      if (!connection) return undefined;
      this.#freeSince.pop();
      if (this.#options.isUsable(connection)) {
        connection.lent = true;
        return connection;
      }
      this.#discard(connection);
    }
  }

  /** @throws {Error} called TimeoutError, or whatever opening a connection threw */
  acquire(): { readonly promise: Promise<Connection> } {
    const connection = this.take();
    if (connection) return { promise: Promise.resolve(connection) };
    if (this.#ending) return { promise: Promise.reject(closed()) };
    const promise = new Promise<Connection>((take, refuse) => {
      this.#waiting.push({ since: performance.now(), take, refuse });
    });
    this.#grow();
    return { promise };
  }

  /** False if it had been given back before. A `broken` one is not used again. */
  release(connection: Connection, broken = false): boolean {
    if (!connection.lent) return false;
    connection.lent = false;
    if (broken || this.#ending || !this.#options.isUsable(connection)) {
      this.#discard(connection);
      this.#grow();
    } else this.#give(connection);
    return true;
  }

  /** Resolves when all are given back and closed; who waits for one is refused. */
  destroy(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    clearInterval(this.#timer);
    const empty = new Promise<void>((resolve) => {
      this.#emptied = resolve;
    });
    for (const { refuse } of this.#waiting.splice(0)) refuse(closed());
    this.#freeSince.length = 0;
    for (const connection of this.#free.splice(0)) this.#discard(connection);
    this.#endIfEmpty();
    await empty;
    let limit: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      limit = setTimeout(resolve, closeAtMost);
    });
    await Promise.race([Promise.all(this.#closing), late]);
    clearTimeout(limit);
  }

  #give(connection: Connection): void {
    const waiter = this.#waiting.shift();
    if (waiter) {
      connection.lent = true;
      waiter.take(connection);
    } else {
      this.#free.push(connection);
      this.#freeSince.push(performance.now());
    }
  }

  #grow(): void {
    this.#timer ??= setInterval(() => this.#look(), lookEvery).unref();
    while (this.#opening < this.#waiting.length && this.#open + this.#opening < this.max) {
      this.#opening += 1;
      this.#options.open().then(
        (connection) => {
          this.#opening -= 1;
          this.#open += 1;
          if (this.#ending) this.#discard(connection);
          else this.#give(connection);
        },
        (error: unknown) => {
          this.#opening -= 1;
          this.emit('createFail', 0, error);
          // Who waits may still get one of those that are open: the server may only be out of connections, or slow to open one.
          if (this.#open === 0) {
            this.#waiting.shift()?.refuse(error);
            this.#grow();
          }
          this.#endIfEmpty();
        },
      );
    }
  }

  #discard(connection: Connection): void {
    this.#open -= 1;
    const closing = this.#options
      .close(connection)
      .catch(() => {})
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    this.#endIfEmpty();
  }

  #endIfEmpty(): void {
    if (this.#open + this.#opening === 0) this.#emptied?.();
  }

  /** One timer for all that may last too long. */
  #look(): void {
    const now = performance.now();
    const { waitAtMost, idleAtMost } = this.#options;
    for (let waiter = this.#waiting[0]; waiter && now - waiter.since > waitAtMost; waiter = this.#waiting[0]) {
      this.#waiting.shift();
      const error = Object.assign(new Error('no connection to the database became free in time'), {
        name: 'TimeoutError',
      });
      this.emit('acquireFail', 0, error);
      waiter.refuse(error);
    }
    for (let since = this.#freeSince[0]; since !== undefined && now - since > idleAtMost; since = this.#freeSince[0]) {
      this.#freeSince.shift();
      const connection = this.#free.shift();
      if (connection) this.#discard(connection);
    }
    this.#grow();
    if (this.#open + this.#opening > 0 || this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
