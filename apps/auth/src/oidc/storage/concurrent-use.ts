// Distinguishes a concurrent use of a code or refresh token from a replay.
//
// A code or refresh token can be used once (RFC 6749 sections 4.1.2 and 6), and the database decides which use wins. A
// losing use is a concurrent use if its request arrived before the response to the winning request was handed over to
// the network. The usual cause is a client that sends two requests at the same time, so the losing request is refused
// and nothing is revoked. Every other losing use is a replay: the token may be stolen, so the whole grant is revoked
// (RFC 9700 section 4.14.2). There is no grace period. A winning request counts as in progress for 5 s at most, so that
// a slow response cannot make a later replay look like a concurrent use.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import type { Next } from '../middleware-types.ts';
import { currentRequestState, requestState } from '../request-state.ts';

/** Milliseconds that a winning request counts as in progress, and that a connection counts as just opened. */
const maxDuration = 5_000;
/** Limits the memory. Without its entry here, a use is judged as if another instance had served it. */
const maxUses = 10_000;

/** Use of one artifact by requests to this instance. Times are those of `performance.now()`. */
interface Use {
  /** A request that arrives until this time is a concurrent use. */
  concurrentUntil: number;
  /** Requests that are trying to use the artifact now. */
  running: number;
  won: boolean;
}

export type ConcurrentUse = ReturnType<typeof createConcurrentUse>;

export function createConcurrentUse() {
  const uses = new Map<string, Use>();

  const begin = (hash: string): Use => {
    const use = uses.get(hash) ?? { concurrentUntil: performance.now() + maxDuration, running: 0, won: false };
    use.running += 1;
    if (uses.size >= maxUses) uses.delete(uses.keys().next().value ?? '');
    uses.set(hash, use);
    return use;
  };

  return {
    /** Registers the middleware that notes when a request arrives and when its response is handed over. */
    observe(provider: Provider): void {
      provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
        const state = requestState(ctx);
        state.arrivedAt = arrivalOf(ctx.req);
        try {
          await next();
        } finally {
          state.afterResponse?.();
        }
      });
    },

    /**
     * Runs the statement that uses up the artifact with this hash. The statement returns a row if it was the first.
     * @throws {errors.InvalidGrant} if another use was first
     */
    async consume(hash: string, statement: () => Promise<readonly unknown[]>): Promise<void> {
      const use = begin(hash);
      try {
        const rows = await statement();
        if (rows.length === 0) throw new errors.InvalidGrant({ detail: 'used by a concurrent request' });
        use.won = true;
        const end = () => {
          use.concurrentUntil = Math.min(use.concurrentUntil, performance.now());
        };
        const state = currentRequestState();
        if (state) state.afterResponse = () => afterPendingRequests(end);
        else end();
      } finally {
        use.running -= 1;
        if (use.running === 0 && !use.won) uses.delete(hash);
      }
    },

    /**
     * Whether the current request is a concurrent use of a used artifact, and not a replay. `consumedAt` is in seconds
     * since the epoch, by the clock of the database. It stands for the time of the response if another instance served
     * the winning request. If the clocks differ, a replay within the difference is refused without revoking the grant.
     */
    isConcurrent(hash: string, consumedAt: number): boolean {
      const arrivedAt = currentRequestState()?.arrivedAt;
      if (arrivedAt === undefined) return false;
      const use = uses.get(hash);
      if (use) return arrivedAt <= use.concurrentUntil;
      const sinceArrival = performance.now() - arrivedAt;
      return Date.now() - sinceArrival <= consumedAt * 1000;
    },
  };
}

/**
 * Requests that have already reached this host were sent before the response, but may not have been read yet. Two turns
 * of the event loop read them: the first accepts new connections, the second reads from them.
 */
const afterPendingRequests = (callback: () => void): void => {
  setImmediate(() => setImmediate(callback));
};

const watchedServers = new WeakSet<Server>();
const openedAt = new WeakMap<Socket, number>();

/**
 * The time at which a request arrived. The first request of a connection counts from the time at which the connection
 * was opened: a client that sends many requests at the same time opens a connection for each, and a busy client may
 * still be sending some of them when the first one has its response.
 */
function arrivalOf({ socket }: IncomingMessage & { socket: Socket & { server?: Server } }): number {
  const now = performance.now();
  const { server } = socket;
  if (server && !watchedServers.has(server)) {
    watchedServers.add(server);
    server.on('connection', (connection) => openedAt.set(connection, performance.now()));
  }
  const opened = openedAt.get(socket) ?? now;
  openedAt.delete(socket);
  return Math.max(opened, now - maxDuration);
}
