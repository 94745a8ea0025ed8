// Distinguishes a concurrent use of a code or refresh token from a replay.
//
// A code or refresh token can be used once (RFC 6749 sections 4.1.2 and 6). The database decides which use succeeds
// ("wins"). All other uses fail. There are two kinds of failed uses:
// - A concurrent use: its request arrived before the response to the winning request was written to the network. The
//   usual cause is a client that sends two requests at the same time. The request is rejected, and nothing is revoked.
// - A replay: every other failed use. The token may be stolen, so the whole grant is revoked (RFC 9700 section 4.14.2).
//
// There is no grace period after the response. A winning request counts as in progress for at most 5 s. Without this
// limit, a slow response would make a later replay look like a concurrent use.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import type { Next } from '../middleware-types.ts';
import { currentRequestState, requestState } from '../request-state.ts';

/**
 * A request that arrives more than this time after the first use of an artifact is a replay, even if no response was
 * written yet. The first request of a connection counts as arrived when the connection was opened, but at most this
 * long ago.
 */
const maxDurationMs = 5_000;
/**
 * The maximum number of entries in the map `uses`. If the map is full, a new entry replaces the oldest one. A replay is
 * then recognized by the time at which the artifact was consumed, as if another instance had consumed it.
 */
const maxUses = 10_000;

/** The requests to this instance that use one artifact (a code or refresh token). */
interface Use {
  /**
   * If a later request arrived before this time, its use is a concurrent use, and not a replay. A value of
   * `performance.now()`.
   */
  concurrentUntil: number;
  /** The number of requests that are trying to use the artifact now. */
  running: number;
  /** Whether a request to this instance has successfully used the artifact. */
  hasWon: boolean;
}

export type ConcurrentUse = ReturnType<typeof createConcurrentUse>;

export function createConcurrentUse() {
  const uses = new Map<string, Use>();

  const begin = (hash: string): Use => {
    const use = uses.get(hash) ?? { concurrentUntil: performance.now() + maxDurationMs, running: 0, hasWon: false };
    use.running += 1;
    if (uses.size >= maxUses) uses.delete(uses.keys().next().value ?? '');
    uses.set(hash, use);
    return use;
  };

  return {
    /** Registers the middleware that records when a request arrives and when its response is written. */
    registerMiddleware(provider: Provider): void {
      provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
        const state = requestState(ctx);
        state.arrivedAt = arrivalOf(ctx.req);
        try {
          await next();
        } finally {
          state.onResponseComplete?.();
        }
      });
    },

    /**
     * Runs `statement`, which consumes an artifact: a code or refresh token with this hash. The statement must return
     * no row if another request has already consumed the artifact.
     * @throws {errors.InvalidGrant} if another request has already consumed the artifact
     */
    async consume(hash: string, statement: () => Promise<readonly unknown[]>): Promise<void> {
      const use = begin(hash);
      try {
        const rows = await statement();
        if (rows.length === 0) throw new errors.InvalidGrant({ detail: 'used by a concurrent request' });
        use.hasWon = true;
        // A request that arrives after the call of `end` is a replay. When the response to the current request is
        // complete, this process first reads all requests that have already reached this host, and then calls `end`.
        // Without a current request, `end` is called immediately.
        const end = () => {
          use.concurrentUntil = Math.min(use.concurrentUntil, performance.now());
        };
        const state = currentRequestState();
        if (state) state.onResponseComplete = () => afterPendingRequests(end);
        else end();
      } finally {
        use.running -= 1;
        // If no request to this instance has used the artifact successfully, the entry is not needed: `isConcurrent`
        // then uses `consumedAt`.
        if (use.running === 0 && !use.hasWon) uses.delete(hash);
      }
    },

    /**
     * Whether the current request is a concurrent use of a consumed artifact. Otherwise it is a replay.
     *
     * `consumedAt` is the time at which the artifact was consumed, in seconds since 1970, by the clock of the database.
     * It is used if another instance has consumed the artifact, because this instance does not know when the other one
     * responded. If the clock of the database is ahead of the clock of this host, a replay shortly after `consumedAt`
     * looks like a concurrent use. The replay is then rejected without revoking the grant.
     */
    isConcurrent(hash: string, consumedAt: number): boolean {
      const arrivedAt = currentRequestState()?.arrivedAt;
      if (arrivedAt === undefined) return false;
      const use = uses.get(hash);
      if (use) return arrivedAt <= use.concurrentUntil;
      // Another instance has consumed the artifact, or the entry was deleted.
      const sinceArrival = performance.now() - arrivedAt;
      return Date.now() - sinceArrival <= consumedAt * 1000;
    },
  };
}

/**
 * Calls `callback` after this process has read all requests that have already reached this host. They were sent before
 * the client could get the response to the request that has used the code or token, so they must count as concurrent
 * uses. Two turns of the event loop are needed: the first turn accepts new connections, and the second turn reads from
 * these connections.
 */
const afterPendingRequests = (callback: () => void): void => {
  setImmediate(() => setImmediate(callback));
};

const watchedServers = new WeakSet<Server>();
const openedAt = new WeakMap<Socket, number>();

/**
 * Returns the time at which a request arrived. For the first request of a connection, this is the time at which the
 * connection was opened. The reason is that a client opens a connection for each of many simultaneous requests. If the
 * client is busy, it may get the first response before it has sent the last request. This last request must still count
 * as a concurrent use.
 *
 * Node sets `socket.server`, but its types do not declare this property. The first request of a server registers the
 * listener that records the connections. Connections that were opened earlier count as opened now.
 */
function arrivalOf({ socket }: IncomingMessage & { socket: Socket & { server?: Server } }): number {
  const now = performance.now();
  const { server } = socket;
  if (server && !watchedServers.has(server)) {
    watchedServers.add(server);
    server.on('connection', (connection) => openedAt.set(connection, performance.now()));
  }
  const opened = openedAt.get(socket) ?? now;
  // Only the first request of a connection uses the time at which the connection was opened. For each later request,
  // this function returns the current time.
  openedAt.delete(socket);
  return Math.max(opened, now - maxDurationMs);
}
