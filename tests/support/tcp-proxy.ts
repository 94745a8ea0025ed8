// Starts a TCP proxy that can delay and stop the traffic between a service and its database.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

export async function startTcpProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  let packetDelayMs = 0;
  let isFrozen = false;
  const forward = (from: Socket, to: Socket): void => {
    let waiting = 0;
    let earlier = Promise.resolve();
    from.on('data', (chunk) => {
      if (packetDelayMs === 0 && waiting === 0) {
        to.write(chunk);
        return;
      }
      // Packets keep their order, as in TCP: one that comes after the end of a delay waits for those before it.
      waiting += 1;
      const arrived = setTimeout(packetDelayMs);
      earlier = earlier
        .then(() => arrived)
        .then(() => {
          waiting -= 1;
          to.write(chunk);
        });
    });
    from.on('close', () => to.destroy());
    from.on('error', () => to.destroy());
    if (isFrozen) from.pause();
  };
  const server = createServer((client) => {
    const database = connect(targetPort, '127.0.0.1');
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    forward(client, database);
    forward(database, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** Delays every packet in both directions. 0 ends the delay. */
    delay: (milliseconds: number) => {
      packetDelayMs = milliseconds;
    },
    /** Stops the traffic without closing the connections, until `resume` is called. */
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
