// A door between the service and its database that a test can shut: connections are cut, and new ones refused, until it is mended.

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface DatabaseProxy {
  readonly url: string;
  readonly disconnect: () => Promise<void>;
  readonly reconnect: () => Promise<void>;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let door: Server | undefined;
  const listen = (port: number): Promise<number> => {
    const opened = createServer((client) => {
      const server = connect(Number(target.port || 5432), target.hostname);
      for (const socket of [client, server]) {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket)).on('error', () => {});
      }
      client.pipe(server).pipe(client);
      client.on('close', () => server.destroy());
      server.on('close', () => client.destroy());
    });
    door = opened;
    return new Promise((resolve) => {
      opened.listen(port, '127.0.0.1', () => resolve((opened.address() as AddressInfo).port));
    });
  };
  const port = await listen(0);
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    disconnect: async () => {
      const closing = new Promise((resolve) => (door ? door.close(resolve) : resolve(undefined)));
      door = undefined;
      for (const socket of sockets) socket.destroy();
      await closing;
    },
    reconnect: async () => void (await listen(port)),
  };
}
