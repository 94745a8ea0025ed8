// Tests the limits on the memory that a client can occupy with one connection, and on the number of connections.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '../src/http/server.ts';

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const inactivityTimeout = 1_000;
const open: { server?: HttpServer; sockets: Socket[] } = { sockets: [] };

async function start(handler: RequestListener, options: Partial<HttpServerOptions> = {}) {
  open.server = await startHttpServer({ handler, port: 0, inactivityTimeout, ...options });
  return open.server.port;
}
/** Opens a connection that reads nothing until `resume` is called. */
function openConnection(port: number): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {});
  open.sockets.push(socket);
  return socket;
}
afterEach(async () => {
  for (const socket of open.sockets.splice(0)) socket.destroy();
  await open.server?.drain();
});

const megabyte = Buffer.alloc(1_000_000, 'x');

test.each([90, 1_000])('a client that sends %i requests and never reads is disconnected', async (count) => {
  const connections = 10;
  let served = 0;
  let closed = 0;
  const allClosed = Promise.withResolvers<void>();
  const port = await start((request, response) => {
    served++;
    if (request.socket.listenerCount('close', onClose) === 0) request.socket.once('close', onClose);
    response.end(megabyte);
  });
  function onClose(): void {
    if (++closed === connections) allClosed.resolve();
  }
  const started = performance.now();
  for (let n = 0; n < connections; n++) openConnection(port).write(get.repeat(count));
  await allClosed.promise;
  expect(performance.now() - started).toBeLessThan(4 * inactivityTimeout);
  // The operating system buffers a few responses. The server itself stores only one response for each connection.
  expect(served).toBeLessThan(connections * 20);
});

test('a client that does not read a response is disconnected, even if it continues to send requests', async () => {
  const closed = Promise.withResolvers<void>();
  const port = await start((request, response) => {
    request.socket.once('close', () => closed.resolve());
    response.end(Buffer.concat(Array(20).fill(megabyte)));
  });
  const socket = openConnection(port);
  socket.write(get);
  const sending = setInterval(() => socket.write(get), inactivityTimeout / 5);
  const started = performance.now();
  await closed.promise;
  clearInterval(sending);
  expect(performance.now() - started).toBeLessThan(4 * inactivityTimeout);
});

test('a client that reads slowly gets the whole response', async () => {
  const size = 20_000_000;
  const port = await start((_request, response) => response.end(Buffer.alloc(size, 'x')));
  const socket = openConnection(port).resume();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let received = 0;
  const started = performance.now();
  // The client repeatedly reads for a moment, and then pauses for less than the timeout.
  socket.on('data', (chunk) => {
    received += chunk.length;
    if (received % 3_000_000 < chunk.length) {
      socket.pause();
      setTimeout(() => socket.resume(), inactivityTimeout / 2);
    }
  });
  await once(socket, 'close');
  expect(received).toBeGreaterThan(size);
  expect(performance.now() - started).toBeGreaterThan(inactivityTimeout);
});

test('pipelined requests are served one after another, in order', async () => {
  let running = 0;
  let maxRunning = 0;
  const port = await start((request, response) => {
    maxRunning = Math.max(maxRunning, ++running);
    setImmediate(() => {
      running--;
      response.end(`[${request.url}]`);
    });
  });
  const socket = openConnection(port);
  const paths = Array.from({ length: 50 }, (_, n) => `/${n}`);
  const requests = paths.map((path, n) => {
    const body = n % 2 ? 'Content-Length: 4\r\n\r\nbody' : '\r\n';
    return `POST ${path} HTTP/1.1\r\nHost: a\r\n${n === 49 ? 'Connection: close\r\n' : ''}${body}`;
  });
  socket.write(requests.join(''));
  const all = await text(socket);
  expect(all.match(/\[[^\]]+\]/g)).toEqual(paths.map((path) => `[${path}]`));
  expect(maxRunning).toBe(1);
});

test('a client can send hundreds of requests on one connection, if it waits for each response', async () => {
  const port = await start((request, response) => {
    request.resume().on('end', () => response.end('ok'));
  });
  const socket = openConnection(port).resume();
  for (let n = 0; n < 300; n++) {
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi');
    await once(socket, 'data');
  }
});

test('a connection above the limit is closed, and the open connections continue to work', async () => {
  let refused = 0;
  const onRefusedConnection = () => void refused++;
  const port = await start((_request, response) => response.end('ok'), { maxConnections: 2, onRefusedConnection });
  const [first, second] = [openConnection(port).resume(), openConnection(port).resume()];
  for (const socket of [first, second]) {
    socket.write(get);
    await once(socket, 'data');
  }
  const third = openConnection(port).resume();
  await once(third, 'close');
  expect(refused).toBe(1);
  first.destroy();
  second.write(get);
  await once(second, 'data');
});

test('if a pipelined request is malformed, the client still gets the response to the previous request', async () => {
  const port = await start((_request, response) => void setTimeout(() => response.end('first'), 50), {
    respondToMalformed: (status) => ({ headers: {}, body: `malformed: ${status}` }),
  });
  const socket = openConnection(port);
  socket.write(`${get}HELLO\r\n\r\n`);
  const all = await text(socket);
  expect(all).toMatch(/^HTTP\/1\.1 200 .*first/s);
  expect(all).not.toContain('malformed');
});
