// Tests the client for outbound requests, which connects only to allowed addresses.
import type { RequestListener } from 'node:http';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createOutboundClient, isPublicAddress, type OutboundClient, type OutboundRequest } from '../src/outbound.ts';

/** `maxBytes: 0` discards the body of the response. */
const post: OutboundRequest = { method: 'POST', body: '{}', timeout: 1_000, maxBytes: 0 };

describe('isPublicAddress', () => {
  test.each(['8.8.8.8', '93.184.216.34', '2606:4700::1111', '2a00:1450:400f::1'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  // Some of these are IPv6 addresses that contain an IPv4 address: mapped (::ffff:), NAT64 (64:ff9b::) and 6to4
  // (2002::).
  test.each([
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.31.0.1'],
    ...['192.0.0.1', '192.168.1.1', '198.18.0.1', '203.0.113.9', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::ffff:8.8.8.8', '::8.8.8.8', '64:ff9b::808:808', '64:ff9b:1::1', '100::1', 'fc00::1', 'fe80::1'],
    ...['ff02::1', '2001::1', '2001:db8::1', '2002:808:808::1', '3fff::1', '4000::1', '5f00::1', 'fe00::1', 'fec0::1'],
    ...['localhost', ''],
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('urlError', () => {
  const publicOnly = createOutboundClient({ allowNetworks: [] });
  const withLoopback = createOutboundClient({ allowNetworks: ['127.0.0.0/8', '::1/128'] });

  // Some of these URLs contain other notations of 127.0.0.1, such as 2130706433 and 0177.0.0.1.
  test.each([
    ...['http://example.com/', 'ftp://example.com/', 'example.com', '', 'https://8.8.8.8/#part'],
    ...['https://user:secret@example.com/', 'https://user@example.com/'],
    ...['https://127.0.0.1/', 'https://2130706433/', 'https://0177.0.0.1/', 'https://0x7f.1/', 'https://127.1/'],
    ...['https://[::1]/', 'https://[::ffff:127.0.0.1]/', 'https://[64:ff9b::7f00:1]/', 'https://[2002:7f00:1::]/'],
    ...['https://10.0.0.1:8443/', 'https://169.254.169.254/latest'],
  ])('rejects %s', (address) => {
    expect(publicOnly.urlError(address)).toMatch(/^must/);
  });

  test.each(['https://8.8.8.8/hook', 'https://example.com/hook?a=b', 'https://[2606:4700::1111]:444/'])(
    'accepts %s',
    (address) => {
      expect(publicOnly.urlError(address)).toBeUndefined();
    },
  );

  test('with allowed networks, accepts http for their addresses and for names, but not for other addresses', () => {
    expect(withLoopback.urlError('http://127.0.0.1:1234/')).toBeUndefined();
    expect(withLoopback.urlError('http://[::1]:1234/')).toBeUndefined();
    // The addresses of a name are not yet known. They are checked when a request is sent.
    expect(withLoopback.urlError('http://hooks.example/')).toBeUndefined();
    expect(withLoopback.urlError('http://8.8.8.8/')).toBe('must be an https address');
    expect(withLoopback.urlError('http://10.0.0.1/')).toBe('must lead to a public address');
  });
});

describe('a request', () => {
  let close: () => Promise<void>;
  let acceptedConnections: number;
  /** The handler of the server, which a test can replace. */
  let respond: RequestListener;
  let client: OutboundClient;
  let port: number;
  beforeEach(async () => {
    acceptedConnections = 0;
    respond = (_request, response) => response.writeHead(204).end();
    const started = await serveHttp((request, response) => respond(request, response));
    started.server.on('connection', () => {
      acceptedConnections += 1;
    });
    ({ port, close } = started);
    client = createOutboundClient({ allowNetworks: ['127.0.0.0/8'] });
  });
  afterEach(() => {
    client.close();
    return close();
  });

  test('reaches an allowed network by address and by name, and reuses the connection to an address', async () => {
    expect(await client.request(`http://127.0.0.1:${port}/`, post)).toMatchObject({ status: 204 });
    expect(await client.request(`http://127.0.0.1:${port}/`, post)).toMatchObject({ status: 204 });
    expect(acceptedConnections).toBe(1);
    expect(await client.request(`http://localhost:${port}/`, post)).toMatchObject({ status: 204 });
  });

  test('does not connect if the name has no allowed address', async () => {
    const clientForOtherNetwork = createOutboundClient({ allowNetworks: ['192.0.2.0/24'] });
    for (const protocol of ['http', 'https']) {
      const request = clientForOtherNetwork.request(`${protocol}://localhost:${port}/`, post);
      await expect(request).rejects.toThrow('localhost has no address that is allowed');
    }
    expect(acceptedConnections).toBe(0);
    clientForOtherNetwork.close();
  });

  test('connects only to the address that was checked, although the name leads to another one later', async () => {
    // An attack by DNS rebinding. The name changing.test leads first to 127.0.0.1, and then to a forbidden address of
    // this machine. The open connection of the first request must not be used again.
    const addresses = ['127.0.0.1', '127.0.0.2'];
    jest.resetModules();
    jest.unstable_mockModule('node:dns/promises', () => ({
      lookup: async () => [{ address: addresses.shift(), family: 4 }],
    }));
    const { createOutboundClient } = await import('../src/outbound.ts');
    const rebound = createOutboundClient({ allowNetworks: ['127.0.0.1/32'] });
    const url = `http://changing.test:${port}/`;
    expect(await rebound.request(url, post)).toMatchObject({ status: 204 });
    await expect(rebound.request(url, post)).rejects.toThrow('changing.test has no address that is allowed');
    expect(acceptedConnections).toBe(1);
    rebound.close();
  });

  test.each([
    ['nothing', '', ''],
    ['informational responses', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['headers', 'HTTP/1.1 200 OK\r\nX-Long: ', 'x'],
  ])(
    'fails at the timeout if the server sends %s and no complete headers, and closes the connection',
    async (_title, start, more) => {
      const closed = Promise.withResolvers<void>();
      respond = ({ socket }) => {
        socket.write(start);
        const timer = setInterval(() => socket.write(more), 20);
        socket.once('close', () => {
          clearInterval(timer);
          closed.resolve();
        });
      };
      const request = client.request(`http://127.0.0.1:${port}/`, { ...post, timeout: 200 });
      await expect(request).rejects.toMatchObject({ name: expect.stringMatching(/^(Abort|Timeout)Error$/) });
      await closed.promise;
    },
  );

  test('fails at once if the headers are too long', async () => {
    respond = ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}`);
    const request = client.request(`http://127.0.0.1:${port}/`, { ...post, timeout: 60_000 });
    await expect(request).rejects.toThrow();
  });

  test('with maxBytes 0 does not wait for a body that never ends, and closes the connection', async () => {
    const closed = Promise.withResolvers<void>();
    respond = (_request, response) => {
      response.once('close', closed.resolve);
      response.writeHead(200);
      // `write` returns false when its buffer is full, and `drain` is emitted when the client has read the buffer.
      const writeForever = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384)));
        if (!response.destroyed) response.once('drain', writeForever);
      };
      writeForever();
    };
    expect(await client.request(`http://127.0.0.1:${port}/`, post)).toMatchObject({ status: 200 });
    await closed.promise;
  });

  test('reads a body of up to maxBytes, and fails if the body is longer', async () => {
    respond = (_request, response) => response.end('{"keys":[]}');
    const get: OutboundRequest = { method: 'GET', timeout: 1_000, maxBytes: 11 };
    expect((await client.request(`http://127.0.0.1:${port}/`, get)).body.toString()).toBe('{"keys":[]}');
    const tooLong = client.request(`http://127.0.0.1:${port}/`, { ...get, maxBytes: 10 });
    await expect(tooLong).rejects.toThrow('the response is longer than 10 bytes');
  });
});
