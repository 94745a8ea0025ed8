// Finds free ports. A port is free if a server can listen on it.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

export async function isPortFree(port: number, host?: string): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen({ port, host, exclusive: true }), 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  await once(server.close(), 'close');
  return true;
}

/** Random, because processes that start at the same time should rarely choose the same port. */
export async function freePort(): Promise<number> {
  for (;;) {
    // Linux uses ports from 32 768 on for outgoing connections, which could take the port before the server does.
    const port = randomInt(20_000, 32_768);
    if (await isPortFree(port)) return port;
  }
}

export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
