// What if a request is no HTTP, too slow, or has too long a header? No handler sees it, but it is answered as every other failure is, and the
// connection is closed (contract section 7; RFC 9112 sections 3.2 and 9.6).
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export type MalformedRequestStatus = 400 | 408 | 413 | 431;

/** Headers by name, and the body. */
export type MalformedRequestResponder = (status: MalformedRequestStatus) => {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** By the code of Node's error. */
export function malformedRequestStatus(code: string | undefined): MalformedRequestStatus {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
}

export function hasHost({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion !== '1.1';
}

export function sendMalformedResponse(
  socket: Duplex,
  status: MalformedRequestStatus,
  respondToMalformed: MalformedRequestResponder,
): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { headers, body } = respondToMalformed(status);
  const all = {
    ...headers,
    Date: new Date().toUTCString(),
    Connection: 'close',
    'Content-Length': Buffer.byteLength(body),
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`, () => socket.destroy());
}
