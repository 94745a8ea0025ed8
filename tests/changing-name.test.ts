// Tests that a webhook delivery connects only to the IP address that was checked, even if the host name leads to
// another address after the check (DNS rebinding). In this test, the name leads first to an allowed address and then to
// a forbidden address. Both addresses are on this machine.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { useFixture } from '@bay-booking/testkit/fixture';
import { afterAll, expect, test } from '@jest/globals';
import { callApi } from './support/api.ts';
import { getToken, startTestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';
import { webhookEnvironment } from './support/webhook-receiver.ts';

const allowed = '127.0.0.2';
const forbidden = '127.0.0.1';

// The system may need more time to start than the default timeout of jest allows, so the timeout is 90 s.
const system = useFixture(startTestSystem);
const servers: Server[] = [];
const connections = { [allowed]: 0, [forbidden]: 0 };
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections();
});

/** Starts a webhook receiver at this address, and returns its port. Port 0 means a free port. */
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
    // The result of the first DNS lookup of changing.test, and the result of all later lookups.
    CHANGING_NAME: `${allowed},${forbidden}`,
    ...webhookEnvironment,
    WEBHOOK_ALLOW_NETWORKS: `${allowed}/32`,
  });
  const url = `http://changing.test:${port}/hook`;
  const created = await callApi<{ id: string }>(base, token, 'POST', '/api/webhooks', { url });
  expect(created.status).toBe(201);
  const path = `/api/webhooks/${created.body.id}`;
  /** Sends a ping, waits for the first delivery attempt, and returns the delivery. */
  const attemptPing = async () => {
    expect((await callApi(base, token, 'POST', `${path}/ping`)).status).toBe(202);
    return eventually(async () => {
      const { body } = await callApi<{ items: { attempts: number }[] }>(base, token, 'GET', `${path}/deliveries`);
      // The list begins with the newest delivery.
      const [delivery] = body.items;
      return delivery?.attempts === 1 && delivery;
    });
  };

  expect(await attemptPing()).toMatchObject({ state: 'delivered', lastStatus: 204 });
  expect(connections).toEqual({ [allowed]: 1, [forbidden]: 0 });
  // A failed attempt leaves the delivery in the state `pending`, because the service tries again later.
  // The connection of the first attempt is still open. The second attempt must not reuse this connection, because the
  // name now leads to an address that is not allowed.
  expect(await attemptPing()).toMatchObject({ state: 'pending', lastStatus: null });
  expect(connections).toEqual({ [allowed]: 1, [forbidden]: 0 });
});
