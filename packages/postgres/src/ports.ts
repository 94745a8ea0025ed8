// Is a port free, and which one is? Both are answered by listening for a moment.
import { createServer } from 'node:net';

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

export const freePort = () => listenBriefly(0, '127.0.0.1');
