// Limits the memory that unfinished headers of all connections occupy together. One alone may have 128 kB.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

const checkIntervalMs = 200;

/** The latest request of a connection, and how much was read from the connection until its body was complete. */
interface Latest {
  readonly request: IncomingMessage;
  bytesRead: number;
  isComplete: boolean;
}

/** Closes the connections with the longest unfinished headers while these have more than `maxBytes` together. */
export function limitUnfinishedHeaders(server: Server, sockets: () => Iterable<Socket>, maxBytes: number): void {
  const latestOf = new WeakMap<Socket, Latest>();
  server.on('request', (request) => latestOf.set(request.socket, { request, bytesRead: 0, isComplete: false }));

  const unfinishedBytes = (socket: Socket): number => {
    const latest = latestOf.get(socket);
    if (latest && !latest.isComplete) {
      latest.bytesRead = socket.bytesRead;
      latest.isComplete = latest.request.complete;
    }
    return socket.bytesRead - (latest?.bytesRead ?? 0);
  };

  const timer = setInterval(() => {
    const unfinished = [...sockets()].map((socket) => ({ socket, bytes: unfinishedBytes(socket) }));
    let total = unfinished.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= maxBytes) return;
    for (const { socket, bytes } of unfinished.toSorted((one, other) => other.bytes - one.bytes)) {
      if (total <= maxBytes) return;
      socket.destroy();
      total -= bytes;
    }
  }, checkIntervalMs);
  server.on('close', () => clearInterval(timer));
}
