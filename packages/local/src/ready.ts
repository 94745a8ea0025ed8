// Checks that the ports are free, and waits until the services are ready.
import { setTimeout as pause } from 'node:timers/promises';
import { isPortFree } from '@bay-booking/postgres/ports';
import { namedPorts, type Settings } from './settings.ts';

const READY_LIMIT_MS = 60_000;

/**
 * Waits until all ports are free, because services of a killed launcher may still be ending.
 * @throws {Error} with one line for each port that is still used after `limitMs`
 */
export async function requireFreePorts(settings: Settings, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const errors: string[] = [];
    for (const { name, port } of namedPorts(settings)) {
      // The first check tries to listen on all addresses. On macOS, this succeeds even if another program listens on
      // loopback, so the second check tries to listen on loopback only.
      const isFree = (await isPortFree(port)) && (await isPortFree(port, '127.0.0.1'));
      if (!isFree) errors.push(`port ${port} is taken: stop what listens there, or choose another with ${name}`);
    }
    if (errors.length === 0) return;
    if (Date.now() >= deadline) throw new Error(errors.join('\n'));
    await pause(200);
  }
}

/**
 * Resolves when `/health/ready` of the service returns 200.
 * @throws {Error} after a minute, or if the signal aborts
 */
export async function untilReady(host: string, port: number, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(READY_LIMIT_MS)]);
  for (;;) {
    if (signal.aborted) throw signal.reason;
    if (limit.aborted)
      throw new Error(`http://localhost:${port}/health/ready is not 200 after ${READY_LIMIT_MS / 1000} s`);
    if (await isReady(`http://${reachableHost(host)}:${port}/health/ready`, limit)) return;
    await pause(50);
  }
}

async function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/**
 * Returns the host of the URL under which this machine reaches a service that listens on `host`. A service that listens
 * on all addresses is reachable on loopback. IPv6 addresses need brackets in a URL.
 */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
