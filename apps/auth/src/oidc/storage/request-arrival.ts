// When did a request arrive? For what is judged by who came first: a use of a token beside another one, or after it.
import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';

/** Milliseconds that a client is believed to need from connecting to asking. */
const connectingAtMost = 5_000;

const watched = new WeakSet<object>();
const opened = Symbol('opened');
type WatchedSocket = Socket & { readonly server?: Server; [opened]?: number | undefined };

/**
 * By `performance.now()`. The first request of a connection has been on its way since that was opened: of many that a client sends at
 * once, each opens its own, and it may be busy for longer than the first of them takes to be answered.
 */
export function arrivalOf({ socket }: IncomingMessage): number {
  const now = performance.now();
  const { server, [opened]: openedAt } = socket as WatchedSocket;
  (socket as WatchedSocket)[opened] = undefined;
  if (server && !watched.has(server)) {
    watched.add(server);
    server.on('connection', (connection: WatchedSocket) => {
      connection[opened] = performance.now();
    });
  }
  return openedAt === undefined ? now : Math.max(openedAt, now - connectingAtMost);
}
