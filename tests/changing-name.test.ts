// Tests that a webhook delivery connects only to the IP address that was checked, even if the host name leads to
// another address after the check (DNS rebinding). Both addresses are on this machine, and only the first address is
// allowed.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getToken, startTestSystem, type TestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';

const allowed = '127.0.0.2';
const forbidden = '127.0.0.1';

let system: TestSystem;
const servers: Server[] = [];
const connections = { [allowed]: 0, [forbidden]: 0 };
beforeAll(async () => {
  system = await startTestSystem();
}, 90_000);
afterAll(async () => {
  for (const server of servers) server.close().closeAllConnections();
  await system?.stop();
}, 60_000);

async function listen(address: typeof allowed | typeof forbidden, port: number): Promise<number> {
  const server = createServer((_request, response) => void response.writeHead(204).end());
  server.on('connection', () => {
    connections[address] += 1;
  });
  servers.push(server);
  server.listen(port, address);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('each delivery attempt looks up the host name again, and connects only to the checked address', async () => {
  const port = await listen(allowed, 0);
  await listen(forbidden, port);
  const token = await getToken((await system.startAuth()).base);
  const { base } = await system.startBookings({
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'support/changing-name.js')}`,
    CHANGING_NAME: `${allowed},${forbidden}`,
    WEBHOOK_KEY: Buffer.alloc(32, 'webhooks').toString('base64'),
    WEBHOOK_ALLOW_NETWORKS: `${allowed}/32`,
  });
  const call = async (method: string, path: string, body?: object) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const response = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    expect(response.ok).toBe(true);
    return (await response.json().catch(() => undefined)) as { id: string; items: { lastStatus: number | null }[] };
  };
  const { id } = await call('POST', '/api/webhooks', { url: `http://changing.test:${port}/hook` });
  const attemptOfPing = async () => {
    await call('POST', `/api/webhooks/${id}/ping`);
    return eventually(async () => {
      const [delivery] = (await call('GET', `/api/webhooks/${id}/deliveries`)).items as { attempts: number }[] & object;
      return delivery?.attempts === 1 && delivery;
    });
  };

  expect(await attemptOfPing()).toMatchObject({ state: 'delivered', lastStatus: 204 });
  expect(connections).toEqual({ [allowed]: 1, [forbidden]: 0 });
  // The connection of the first attempt is still open. The second attempt must not reuse this connection, because the
  // name now leads to an address that is not allowed.
  expect(await attemptOfPing()).toMatchObject({ state: 'pending', lastStatus: null });
  expect(connections).toEqual({ [allowed]: 1, [forbidden]: 0 });
}, 60_000);
