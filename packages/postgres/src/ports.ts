// Finds free ports, and checks whether a port is free, by listening on it for a moment.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * The range of the free ports ends below the ports that Linux uses for outgoing connections (from 32768). An outgoing
 * connection could otherwise take a port before the server listens on it.
 */
const lowest = 20_000;
const end = 32_768;

export function listenBriefly(port: number, host: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
    });
  });
}

export async function portIsFree(port: number, host?: string): Promise<boolean> {
  try {
    await listenBriefly(port, host);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(lowest, end);
    if (await portIsFree(port)) return port;
  }
  return listenBriefly(0, '127.0.0.1');
}

/** Returns `count` different free ports. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
