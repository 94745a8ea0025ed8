// Responds to requests that Node cannot parse, that time out, that have no valid Host header (RFC 9112 section 3.2) or
// that are for another host (RFC 9110 section 15.5.20).
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export type MalformedRequestStatus = 400 | 408 | 413 | 421 | 431;

export type MalformedRequestResponder = (status: MalformedRequestStatus) => {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export function malformedRequestStatus(code: string | undefined): MalformedRequestStatus {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
}

/** Node's `headers` contains only the first Host header, and a proxy may have used another one. */
export const hasOneHost = ({ httpVersion, headersDistinct: { host } }: IncomingMessage): boolean =>
  host === undefined ? httpVersion === '1.0' : host.length === 1;

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
  const allHeaders = {
    ...headers,
    Date: new Date().toUTCString(),
    Connection: 'close',
    'Content-Length': Buffer.byteLength(body),
  };
  const headerLines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headerLines.join('')}\r\n`;
  socket.end(head + body, () => socket.destroy());
}
