// Finds free ports. A port is free if a server can listen on it.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** The first port of the range in which free ports are searched. */
const rangeStart = 20_000;
/**
 * The first port after the range. From this port on, Linux uses ports for outgoing connections. Such a connection could
 * take a port before the server listens on it.
 */
const rangeEnd = 32_768;

/**
 * Listens on a port for a moment and returns its number. Port 0 selects any free port.
 * @throws {Error} if the port cannot be used, for example EADDRINUSE
 */
function listenBriefly(port: number, host: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
    });
  });
}

export async function isPortFree(port: number, host?: string): Promise<boolean> {
  try {
    await listenBriefly(port, host);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}

/** Returns a free port. It is random, so that processes that start at the same time rarely choose the same port. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(rangeStart, rangeEnd);
    if (await isPortFree(port)) return port;
  }
  // The range is almost full, so a port after the range is better than none.
  return listenBriefly(0, '127.0.0.1');
}

/** Returns `count` different free ports. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
