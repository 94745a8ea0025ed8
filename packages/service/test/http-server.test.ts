// Tests the responses to malformed and unusual HTTP requests, which are sent as raw text.
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { startHttpServer } from '../src/http/server.ts';

const respondToMalformed = (status: number) => ({
  headers: { 'Content-Type': 'text/plain' },
  body: `malformed: ${status}`,
});

/** Longer than the 131 072 bytes that the server accepts for all headers together. */
const tooLongHeader = 'x'.repeat(140_000);

/** Sends raw text to a server that responds 'handled' and returns the raw response. */
async function send(request: string): Promise<string> {
  const { port, drain } = await startHttpServer({
    handler: (_request, response) => response.end('handled'),
    port: 0,
    respondToMalformed,
  });
  const socket = connect(port, '127.0.0.1');
  socket.end(request);
  const response = await text(socket);
  await drain();
  return response;
}

test.each([
  ['that is not HTTP', 400, 'HELLO\r\n\r\n'],
  ['without a Host header', 400, 'GET / HTTP/1.1\r\n\r\n'],
  ['with two Host headers', 400, 'GET / HTTP/1.1\r\nHost: a\r\nhOSt: b\r\n\r\n'],
  ['of HTTP/0.9', 400, 'GET /\r\n\r\n'],
  [
    'with two Content-Length headers',
    400,
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
  ],
  ['with a header that is too long', 431, `GET / HTTP/1.1\r\nHost: a\r\nX: ${tooLongHeader}\r\n\r\n`],
])(
  'a malformed request %s gets the status %i with the body of respondToMalformed, and the connection is closed',
  async (_title, status, request) => {
    const response = await send(request);
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(response).toMatch(/\r\nContent-Type: text\/plain\r\n/);
    expect(response).toMatch(/\r\nConnection: close\r\n/);
    expect(response.split('\r\n\r\n')[1]).toBe(`malformed: ${status}`);
  },
);

test.each([
  ['an unknown Expect header', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: much\r\nConnection: close\r\n\r\n'],
  ['HTTP/1.0 and no Host header', 'GET / HTTP/1.0\r\n\r\n'],
])('a request with %s is served', async (_title, request) => {
  expect(await send(request)).toMatch(/handled$/);
});
