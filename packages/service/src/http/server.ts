// Runs an HTTP server that finishes its requests before it closes, responds to malformed requests and limits clients'
// connections and memory (docs/behaviour.md, "Rate limits").
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  hasOneHost,
  type MalformedRequestResponder,
  malformedRequestStatus,
  sendMalformedResponse,
} from './malformed-request.ts';
import { createRequestQueue, type RequestQueue } from './request-queue.ts';
import { limitUnfinishedHeaders } from './unfinished-headers.ts';

/** All times in this file are in ms. */
export const drainTimeout = 30_000;
const firstByteTimeout = 1_000;
const closeIdleInterval = 50;
/** Longer than the 25 s that a change feed request can wait. */
const defaultInactivityTimeout = 40_000;
/** An idle connection occupies about 10 kB, so 5,000 connections occupy 50 MB. */
export const defaultMaxConnections = 5_000;
/** Many short headers occupy more memory than their bytes. Node ignores those above this number. */
const maxHeadersCount = 200;
/** 5,000 connections then stay below the 512 MiB of the Kubernetes manifests (docs/security.md). */
const defaultMaxUnfinishedBytes = 32_000_000;

export interface HttpServerOptions {
  readonly handler: RequestListener;
  readonly port: number;
  readonly host?: string | undefined;
  /** If undefined, Node responds to malformed requests with only a status line. */
  readonly respondToMalformed?: MalformedRequestResponder | undefined;
  readonly maxConnections?: number | undefined;
  readonly onRefusedConnection?: () => void;
  /** A connection with an unfinished request is closed if no data is sent or received for this time. */
  readonly inactivityTimeout?: number | undefined;
  /** The longest unfinished headers are closed if all of them have more bytes together. */
  readonly maxUnfinishedBytes?: number | undefined;
}

export interface HttpServer {
  readonly port: number;
  /** Stops accepting connections. Resolves when the last response was sent, or after 30 s. */
  readonly drain: () => Promise<void>;
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { handler, port, host, respondToMalformed } = options;
  const server = createServer({
    requestTimeout: 30_000,
    headersTimeout: 15_000,
    connectionsCheckingInterval: 5_000,
    // Longer than most load balancers reuse an idle connection (60 s).
    keepAliveTimeout: 65_000,
    // Node's default of 16 kB is too small for a search for 500 ids.
    maxHeaderSize: 131_072,
    // Node's own check would respond without a body.
    requireHostHeader: !respondToMalformed,
  });
  server.maxConnections = options.maxConnections ?? defaultMaxConnections;
  server.maxHeadersCount = maxHeadersCount;
  server.timeout = options.inactivityTimeout ?? defaultInactivityTimeout;
  if (options.onRefusedConnection) server.on('drop', options.onRefusedConnection);
  let isDraining = false;
  const queue = createRequestQueue((request, response) => {
    if (isDraining) response.setHeader('Connection', 'close');
    if (respondToMalformed && !hasOneHost(request)) sendMalformedResponse(request.socket, 400, respondToMalformed);
    else handler(request, response);
  });
  server.on('connection', queue.add);
  server.on('request', queue.receive);
  limitUnfinishedHeaders(server, queue.sockets, options.maxUnfinishedBytes ?? defaultMaxUnfinishedBytes);
  // A server may ignore an unknown expectation (RFC 9110 section 10.1.1).
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  if (respondToMalformed) {
    server.on('clientError', (error: Error & { code?: string }, socket: Socket) =>
      handleClientError(error.code, socket, queue.responsesOf(socket), respondToMalformed),
    );
  }
  server.listen({ port, host });
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    drain: () => {
      isDraining = true;
      return drain(server, queue);
    },
  };
}

/**
 * Handles a malformed request or a timeout. `response` belongs to the request being served, `laterResponses` to the
 * waiting requests.
 */
function handleClientError(
  code: string | undefined,
  socket: Socket,
  [response, ...laterResponses]: readonly ServerResponse[],
  respondToMalformed: MalformedRequestResponder,
): void {
  // An error response would become part of the first response, or the client would mistake it for a waiting request's
  // response.
  if (response?.headersSent || laterResponses.length > 0 || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (!response?.req.complete) {
    sendMalformedResponse(socket, malformedRequestStatus(code), respondToMalformed);
    return;
  }
  // The error is in the request after `response`. The client does not expect a response to that request yet.
  response.setHeader('Connection', 'close');
}

async function drain(server: Server, queue: RequestQueue): Promise<void> {
  for (const socket of queue.sockets())
    for (const response of queue.responsesOf(socket))
      if (!response.headersSent) response.setHeader('Connection', 'close');
  // Browsers open connections in advance, which Node does not treat as idle. A request may already be on its way.
  const firstByte = setTimeout(() => {
    for (const socket of queue.sockets()) if (socket.bytesRead === 0) socket.destroy();
  }, firstByteTimeout);
  const closeIdle = setInterval(() => server.closeIdleConnections(), closeIdleInterval);
  const timeout = setTimeout(() => server.closeAllConnections(), drainTimeout);
  server.close();
  server.closeIdleConnections();
  await once(server, 'close');
  clearTimeout(firstByte);
  clearInterval(closeIdle);
  clearTimeout(timeout);
}
