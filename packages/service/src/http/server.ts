// Runs an HTTP server that finishes its requests before it closes, responds to malformed requests, and limits the
// number of connections and the memory that clients can occupy (docs/behaviour.md, "Rate limits").
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

/** How long `drain` waits for the responses, in ms. */
export const drainTimeout = 30_000;
/** How long `drain` waits for the first byte of a connection that has not sent anything, in ms. */
const firstByteTimeout = 1_000;
/** How often `drain` closes the connections that have become idle, in ms. */
const closeIdleInterval = 50;
/**
 * The default of `inactivityTimeout`, in ms. It must be longer than the 25 s for which a request for the change feed
 * can wait.
 */
const defaultInactivityTimeout = 40_000;
/** An idle connection occupies about 10 kB, so 5,000 connections occupy 50 MB. */
export const defaultMaxConnections = 5_000;

export interface HttpServerOptions {
  readonly handler: RequestListener;
  /** The port to listen on. 0 selects any free port. */
  readonly port: number;
  /** The address to listen on. Default: all addresses of this machine. */
  readonly host?: string | undefined;
  /** Builds the responses to malformed requests. If it is missing, Node sends only a status line. */
  readonly respondToMalformed?: MalformedRequestResponder | undefined;
  /** The maximum number of connections. Further connections are closed without a response. */
  readonly maxConnections?: number | undefined;
  /** Called for every connection that is closed because of `maxConnections`. */
  readonly onRefusedConnection?: () => void;
  /**
   * A connection with an unfinished request is closed if no data is sent or received for this time, in ms. This happens
   * if the client stops sending its request or stops reading its response.
   */
  readonly inactivityTimeout?: number | undefined;
}

export interface HttpServer {
  readonly port: number;
  /** Stops accepting connections and resolves when the last response has been sent, or after 30 s. */
  readonly drain: () => Promise<void>;
}

/** @throws {Error} if the server cannot listen, for example EADDRINUSE if the port is in use */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { handler, port, host, respondToMalformed } = options;
  // Times are in ms. The maximum size of all headers of a request is in bytes.
  const server = createServer({
    requestTimeout: 30_000,
    headersTimeout: 15_000,
    connectionsCheckingInterval: 5_000,
    // Longer than the 60 s for which most load balancers reuse an idle connection. Otherwise, a request could arrive
    // while this server closes its connection.
    keepAliveTimeout: 65_000,
    // Node's default of 16 kB is too small for a search for 500 ids.
    maxHeaderSize: 131_072,
    // With `respondToMalformed`, the queue below checks the header Host. Node's own check would respond without a body.
    requireHostHeader: !respondToMalformed,
  });
  server.maxConnections = options.maxConnections ?? defaultMaxConnections;
  server.timeout = options.inactivityTimeout ?? defaultInactivityTimeout;
  if (options.onRefusedConnection) server.on('drop', options.onRefusedConnection);
  let isDraining = false;
  // Serves the requests of one connection one after another.
  const queue = createRequestQueue((request, response) => {
    if (isDraining) response.setHeader('Connection', 'close');
    if (respondToMalformed && !hasOneHost(request)) sendMalformedResponse(request.socket, 400, respondToMalformed);
    else handler(request, response);
  });
  server.on('connection', queue.add);
  server.on('request', queue.receive);
  // Handles a request with an unknown value in the header `Expect` like any other request (RFC 9110, section 10.1.1).
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
 * Handles an error of a connection, such as a malformed request or a timeout. The array contains the unfinished
 * responses of the connection, in the order of their requests. The first one, `response`, belongs to the request that
 * is being served. The others, `laterResponses`, belong to requests that wait.
 */
function handleClientError(
  code: string | undefined,
  socket: Socket,
  [response, ...laterResponses]: readonly ServerResponse[],
  respondToMalformed: MalformedRequestResponder,
): void {
  // No error response is possible in these cases:
  // - The first response has begun: an error response would become a part of it.
  // - Several requests wait: the client would mistake an error response for the response to one of them. Few clients
  //   send a request before they have the previous response, so the waiting requests are given up.
  // - The client has closed the connection.
  if (response?.headersSent || laterResponses.length > 0 || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (!response?.req.complete) {
    sendMalformedResponse(socket, malformedRequestStatus(code), respondToMalformed);
    return;
  }
  // The request of `response` is complete, so the error is in the next request. An error response must not be sent,
  // because the client would mistake it for the response to the complete request.
  response.setHeader('Connection', 'close');
}

async function drain(server: Server, queue: RequestQueue): Promise<void> {
  for (const socket of queue.sockets())
    for (const response of queue.responsesOf(socket))
      if (!response.headersSent) response.setHeader('Connection', 'close');
  // Browsers open connections in advance. Node does not treat such a connection as idle before its first request. The
  // request may already be on its way, so the connection is closed a second later.
  setTimeout(() => {
    for (const socket of queue.sockets()) if (socket.bytesRead === 0) socket.destroy();
  }, firstByteTimeout);
  const closeIdle = setInterval(() => server.closeIdleConnections(), closeIdleInterval);
  const timeout = setTimeout(() => server.closeAllConnections(), drainTimeout);
  server.close();
  server.closeIdleConnections();
  await once(server, 'close');
  clearInterval(closeIdle);
  clearTimeout(timeout);
}
