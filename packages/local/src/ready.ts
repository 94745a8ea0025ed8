// Checks that ports are free and waits until the services are ready.
import { setTimeout as pause } from 'node:timers/promises';
import { isPortFree } from '@bay-booking/postgres/ports';
import type { Settings } from './settings.ts';

/** Services of a killed launcher may use the ports for a short time. */
const portLimitMs = 3_000;
const readyLimitMs = 60_000;

/** @throws {Error} with one line for each port that is still in use after the limit */
export async function requireFreePorts(settings: Settings): Promise<void> {
  const deadline = Date.now() + portLimitMs;
  for (;;) {
    const errors: string[] = [];
    for (const { name, port } of settings.ports) {
      // On macOS, a program can listen on all interfaces while another program listens on loopback.
      const isFree = (await isPortFree(port)) && (await isPortFree(port, '127.0.0.1'));
      if (!isFree) errors.push(`port ${port} is taken: stop what listens there, or choose another with ${name}`);
    }
    if (errors.length === 0) return;
    if (Date.now() >= deadline) throw new Error(errors.join('\n'));
    await pause(100);
  }
}

/** @throws {Error} if `/health/ready` does not return 200 within a minute, or if the signal aborts */
export async function untilReady(host: string, port: number, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + readyLimitMs;
  const url = `http://${reachableHost(host)}:${port}/health/ready`;
  while (Date.now() < deadline) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(readyLimitMs)]);
    const response = await fetch(url, { signal: limit }).catch(() => undefined);
    signal.throwIfAborted();
    await response?.body?.cancel();
    if (response?.ok) return;
    await pause(50);
  }
  throw new Error(`${url} is not 200 after ${readyLimitMs / 1000} s`);
}

/** Returns the host that this machine can use to reach a service that listens on `host`. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
