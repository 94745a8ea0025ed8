// Tests the limits on the memory that a client can occupy with one connection, and on the number of connections.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '../src/http/server.ts';

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const megabyte = Buffer.alloc(1_000_000, 'x');
/** In milliseconds. */
const inactivityTimeout = 1_000;
/** The time after which an inactive client must be disconnected. It is long enough for a busy machine. */
const maxTimeToDisconnect = 4 * inactivityTimeout;
let server: HttpServer;
const sockets: Socket[] = [];

async function startServer(handler: RequestListener, options: Partial<HttpServerOptions> = {}): Promise<number> {
  server = await startHttpServer({ handler, port: 0, inactivityTimeout, ...options });
  return server.port;
}

/** Opens a connection that reads nothing until `resume` is called. */
function openConnection(port: number): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  // When the server closes the connection, the socket may get an ECONNRESET, which is no failure of the test.
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.drain();
});

// Up to 100 requests of a connection may wait. With 90 requests, the connection is closed after the inactivity timeout,
// because the client reads nothing. With 1 000 requests, the connection is closed immediately.
test.each([90, 1_000])('a client that sends %i requests and never reads is disconnected', async (requestCount) => {
  const connections = 10;
  let servedRequests = 0;
  let closedConnections = 0;
  const allClosed = Promise.withResolvers<void>();
  const handleClose = (): void => {
    closedConnections++;
    if (closedConnections === connections) allClosed.resolve();
  };
  const port = await startServer((request, response) => {
    servedRequests++;
    const isFirstRequest = request.socket.listenerCount('close', handleClose) === 0;
    if (isFirstRequest) request.socket.once('close', handleClose);
    response.end(megabyte);
  });
  const startedAt = performance.now();
  for (let n = 0; n < connections; n++) openConnection(port).write(get.repeat(requestCount));
  await allClosed.promise;
  expect(performance.now() - startedAt).toBeLessThan(maxTimeToDisconnect);
  // The operating system buffers a few responses. The server itself stores only one response for each connection.
  expect(servedRequests).toBeLessThan(connections * 20);
});

test('a client that does not read a response is disconnected, even if it continues to send requests', async () => {
  const closed = Promise.withResolvers<void>();
  const port = await startServer((request, response) => {
    request.socket.once('close', () => closed.resolve());
    response.end(Buffer.concat(Array(20).fill(megabyte)));
  });
  const socket = openConnection(port);
  socket.write(get);
  const sending = setInterval(() => socket.write(get), inactivityTimeout / 5);
  const startedAt = performance.now();
  await closed.promise;
  clearInterval(sending);
  expect(performance.now() - startedAt).toBeLessThan(maxTimeToDisconnect);
});

test('a client that reads slowly gets the whole response', async () => {
  const size = 20_000_000;
  const port = await startServer((_request, response) => response.end(Buffer.alloc(size, 'x')));
  const socket = openConnection(port).resume();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let received = 0;
  const startedAt = performance.now();
  // After every 3 MB, the client pauses. Each pause is shorter than the inactivity timeout, but all pauses together are
  // longer.
  socket.on('data', (chunk) => {
    const pauses = Math.floor(received / 3_000_000);
    received += chunk.length;
    if (Math.floor(received / 3_000_000) > pauses) {
      socket.pause();
      setTimeout(() => socket.resume(), inactivityTimeout / 2);
    }
  });
  await once(socket, 'close');
  expect(received).toBeGreaterThan(size);
  expect(performance.now() - startedAt).toBeGreaterThan(inactivityTimeout);
});

test('pipelined requests are served one after another, in order', async () => {
  let running = 0;
  let maxRunning = 0;
  const port = await startServer((request, response) => {
    running++;
    maxRunning = Math.max(maxRunning, running);
    setImmediate(() => {
      running--;
      response.end(`[${request.url}]`);
    });
  });
  const socket = openConnection(port);
  const paths = Array.from({ length: 50 }, (_, n) => `/${n}`);
  // Every second request has a body, and the last request closes the connection.
  const requests = paths.map((path, n) => {
    const connection = n === paths.length - 1 ? 'Connection: close\r\n' : '';
    const lengthAndBody = n % 2 ? 'Content-Length: 4\r\n\r\nbody' : '\r\n';
    return `POST ${path} HTTP/1.1\r\nHost: a\r\n${connection}${lengthAndBody}`;
  });
  socket.write(requests.join(''));
  const responses = await text(socket);
  // Each body is the path of its request in brackets.
  expect(responses.match(/\[[^\]]+\]/g)).toEqual(paths.map((path) => `[${path}]`));
  expect(maxRunning).toBe(1);
});

test('a client that waits for each response can send hundreds of requests on one connection', async () => {
  const port = await startServer((request, response) => {
    request.resume().on('end', () => response.end('ok'));
  });
  const socket = openConnection(port).resume();
  // At most 100 requests may wait on a connection. Here none waits, because the client first reads each response.
  for (let n = 0; n < 300; n++) {
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi');
    const [data] = await once(socket, 'data');
    expect(String(data)).toMatch(/^HTTP\/1\.1 200 /);
  }
});

test('a connection above the limit is closed, and the open connections continue to work', async () => {
  let refusedConnections = 0;
  const onRefusedConnection = () => void refusedConnections++;
  const options = { maxConnections: 2, onRefusedConnection };
  const port = await startServer((_request, response) => response.end('ok'), options);
  const [first, second] = [openConnection(port).resume(), openConnection(port).resume()];
  for (const socket of [first, second]) {
    socket.write(get);
    await once(socket, 'data');
  }
  const third = openConnection(port).resume();
  await once(third, 'close');
  expect(refusedConnections).toBe(1);
  first.destroy();
  second.write(get);
  await once(second, 'data');
});

test('if a pipelined request is malformed, the client still gets the response to the previous request', async () => {
  // The server reads the malformed request while it still waits for the first response.
  const port = await startServer((_request, response) => void setTimeout(() => response.end('first'), 50), {
    respondToMalformed: (status) => ({ headers: {}, body: `malformed: ${status}` }),
  });
  const socket = openConnection(port);
  socket.write(`${get}HELLO\r\n\r\n`);
  const responses = await text(socket);
  expect(responses).toMatch(/^HTTP\/1\.1 200 .*first/s);
  expect(responses).not.toContain('malformed');
});

test('the longest unfinished headers are closed when all of them occupy too much memory', async () => {
  const options = { maxUnfinishedBytes: 1_000_000, inactivityTimeout: 20_000 };
  const port = await startServer((request, response) => {
    request.resume().on('end', () => response.end('ok'));
  }, options);
  const body = 'x'.repeat(900_000);
  const [idle, short] = [openConnection(port).resume(), openConnection(port).resume()];
  idle.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await once(idle, 'data');
  short.write('GET / HTTP/1.1\r\nHost: a\r\n');
  const long = Array.from({ length: 20 }, () => openConnection(port).resume());
  let closed = 0;
  const half = Promise.withResolvers<void>();
  for (const socket of long) {
    socket.on('close', () => {
      closed++;
      if (closed === 10) half.resolve();
    });
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}`);
  }
  await half.promise;
  short.write('\r\n');
  await once(short, 'data');
  idle.write(get);
  await once(idle, 'data');
  expect(closed).toBeLessThan(20);
});
