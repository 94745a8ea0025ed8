// Tests that a delivery never connects to a forbidden address, even if the registration has accepted the address. Also
// tests that an attempt ends if the response never ends (docs/behaviour.md, "Webhooks").
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { query } from '@bay-booking/service/database/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestSystem, type TestSystem } from './support/test-system.ts';
import { until } from './support/until.ts';

let server: Server;
let port: number;
let connections: Socket[];
let respond: (socket: Socket, request: string) => void;
beforeEach(async () => {
  connections = [];
  respond = () => {};
  server = createServer((socket) => {
    connections.push(socket);
    // The service may reset a connection. Without this listener, the error would end the test run.
    socket.on('error', () => {});
    socket.once('data', (request) => respond(socket, String(request)));
  });
  // Without a host, the server listens on all IPv6 and IPv4 addresses of this machine.
  server.listen(0);
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const socket of connections) socket.destroy();
  server.close();
  await once(server, 'close');
});

/**
 * Registers a webhook with an allowed address, changes the address to `url` in the database, and sends a ping. The
 * service would reject a registration with `url`, but it could have accepted `url` with an older configuration. Returns
 * a function that reads the delivery of the ping.
 */
async function attemptAt(system: TestSystem, url: string): Promise<() => Promise<Record<string, unknown>>> {
  const registered = await system.call('POST', '/api/webhooks', { body: { url: 'https://partner.example/hook' } });
  const { id } = registered.body;
  await query(system.db, 'update webhook set url = $2 where id = $1', [id, url]);
  await system.call('POST', `/api/webhooks/${id}/ping`);
  return async () => (await system.call('GET', `/api/webhooks/${id}/deliveries`)).body.items[0];
}

const hasAttempted = ({ attempts }: Record<string, unknown>): boolean => attempts === 1;

describe('without allowed networks', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await createTestSystem({ webhooks: { deliver: true } });
  });
  afterAll(() => system.close());

  test.each([
    ['a loopback address', () => `https://127.0.0.1:${port}/`],
    ['an http address', () => `http://127.0.0.1:${port}/`],
    ['a decimal address', () => `https://2130706433:${port}/`],
    ['an octal address', () => `https://0177.0.0.1:${port}/`],
    ['a hexadecimal address', () => `https://0x7f000001:${port}/`],
    ['a short address', () => `https://127.1:${port}/`],
    ['the unspecified address', () => `https://0.0.0.0:${port}/`],
    ['a loopback address of IPv6', () => `https://[::1]:${port}/`],
    ['an IPv4-mapped address', () => `https://[::ffff:127.0.0.1]:${port}/`],
    ['an IPv4-mapped address in hexadecimal digits', () => `https://[::ffff:7f00:1]:${port}/`],
    ['an IPv4-compatible address', () => `https://[::127.0.0.1]:${port}/`],
    ['a NAT64 address', () => `https://[64:ff9b::127.0.0.1]:${port}/`],
    ['a 6to4 address', () => `https://[2002:7f00:1::]:${port}/`],
    ['a name that leads to a loopback address', () => `https://localhost:${port}/`],
    ['an address with user information', () => `https://user:secret@localhost:${port}/`],
    ['an address with user information that looks like a host', () => `https://partner.example@127.0.0.1:${port}/`],
  ])('the service does not connect to %s, and the attempt fails', async (_title, url) => {
    const delivery = await until(await attemptAt(system, url()), hasAttempted);
    // The attempt has failed without a response, and the service will try again.
    expect(delivery).toMatchObject({ state: 'pending', lastStatus: null, lastError: 'address not allowed' });
    expect(connections).toHaveLength(0);
  });
});

describe('a receiver whose response never ends', () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await createTestSystem({ webhooks: { deliver: true, allowNetworks: ['127.0.0.0/8'] } });
  });
  afterAll(() => system.close());

  /** Sends `start`, and then `text` every 50 ms until the client closes the connection. */
  const drip = (socket: Socket, start: string, text: string): void => {
    socket.write(start);
    const timer = setInterval(() => socket.write(text), 50);
    socket.once('close', () => clearInterval(timer));
  };
  const allClosed = async () => connections.every(({ closed }) => closed);

  test('attempts without complete headers end after 15 s, and all connections are closed', async () => {
    const earlyHints = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    respond = (socket, request) => {
      if (request.startsWith('POST /headers')) drip(socket, 'HTTP/1.1 200 OK\r\nX-Long: ', 'x');
      else if (request.startsWith('POST /informational')) drip(socket, earlyHints, earlyHints);
      else drip(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n', 'x');
    };
    const [headers, informational, body] = await Promise.all(
      ['headers', 'informational', 'body'].map(async (path) =>
        until(await attemptAt(system, `http://127.0.0.1:${port}/${path}`), hasAttempted, 20_000),
      ),
    );
    expect(headers).toMatchObject({ state: 'pending', lastStatus: null, lastError: 'timeout' });
    expect(informational).toMatchObject({ state: 'pending', lastStatus: null });
    // The response body is discarded, so the delivery has succeeded when the headers arrive.
    expect(body).toMatchObject({ state: 'delivered', lastStatus: 200 });
    expect(connections).toHaveLength(3);
    await until(allClosed, Boolean, 20_000);
  }, 45_000);

  test('an attempt fails immediately if the headers are too long', async () => {
    respond = (socket) => drip(socket, `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}`, 'x');
    const delivery = await until(await attemptAt(system, `http://127.0.0.1:${port}/`), hasAttempted);
    expect(delivery).toMatchObject({ state: 'pending', lastStatus: null });
    await until(allClosed, Boolean);
  });
});
