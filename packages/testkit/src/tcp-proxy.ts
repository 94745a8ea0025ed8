// Starts a TCP proxy between a service and its database, with which a test delays, stops or interrupts the traffic.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

export async function startTcpProxy(target: { readonly host?: string; readonly port: number }) {
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
    const database = connect(target);
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    forward(client, database);
    forward(database, client);
  });
  const listen = async (port: number): Promise<number> => {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  return {
    port,
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
    /** Closes all connections and refuses new ones, until `reconnect` is called. */
    disconnect: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    /** Accepts connections again at the same address. */
    reconnect: async () => {
      if (!server.listening) await listen(port);
    },
  };
}
