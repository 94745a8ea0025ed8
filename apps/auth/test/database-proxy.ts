// Starts a TCP proxy between the service and its database, so that a test can interrupt the connection.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface DatabaseProxy {
  /** The URL of the database through the proxy. */
  readonly url: string;
  /** Closes all connections and refuses new connections. */
  readonly disconnect: () => Promise<void>;
  /** Accepts connections again at the same address. Has no effect without an earlier `disconnect`. */
  readonly reconnect: () => Promise<void>;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let listener: Server | undefined;
  const listen = (port: number): Promise<number> => {
    const server = createServer((client) => {
      const database = connect(Number(target.port || 5432), target.hostname);
      for (const socket of [client, database]) {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket)).on('error', () => {});
      }
      client.pipe(database).pipe(client);
      client.on('close', () => database.destroy());
      database.on('close', () => client.destroy());
    });
    listener = server;
    return new Promise((resolve) => {
      server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  };
  const port = await listen(0);
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    disconnect: async () => {
      const closing = new Promise((resolve) => (listener ? listener.close(resolve) : resolve(undefined)));
      listener = undefined;
      for (const socket of sockets) socket.destroy();
      await closing;
    },
    reconnect: async () => {
      if (!listener) await listen(port);
    },
  };
}
