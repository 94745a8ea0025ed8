// The target `constant` of the benchmark: sends stored responses of the service with node:http, without a database. No
// service on node:http can be faster.
import { createServer } from 'node:http';
import { endWithParent, peerOptions } from './start.ts';

export interface ConstantOptions {
  readonly port: number;
  /** The response to each operation, by the name of the operation. */
  readonly responses: Readonly<Record<string, { readonly status: number; readonly body: string }>>;
}

const { port, responses } = peerOptions<ConstantOptions>();

function operationOf(method: string, url: string): string {
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'update';
  if (url.includes('/upcoming-bookings')) return 'upcoming';
  return url.includes('?') ? 'search' : 'get';
}

createServer((request, response) => {
  if (request.url === '/ready') return void response.end();
  // Reads and ignores the body, so that the connection can be used for the next request.
  request.resume();
  const { status, body } = responses[operationOf(request.method ?? '', request.url ?? '')] ?? {
    status: 200,
    body: '{}',
  };
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}).listen(port);
endWithParent();
