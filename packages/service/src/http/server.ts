// Runs an HTTP server that finishes its requests before it closes, responds to malformed requests, and limits the
// connections and the memory that clients can occupy (docs/behaviour.md, "Rate limits").
import { createServer, type RequestListener, type ServerOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  hasOneHost,
  type MalformedRequestResponder,
  malformedRequestStatus,
  sendMalformedResponse,
} from './malformed-request.ts';
import { createRequestQueue } from './request-queue.ts';

/** How long `drain` waits for the responses, in ms. */
export const drainTimeout = 30_000;
/** How long `drain` waits for the first byte of a connection that has not sent anything, in ms. */
const firstByteTimeout = 1_000;
const closeIdleInterval = 50;
/**
 * A connection with an unfinished request is closed if no byte was sent or received for this time, in ms. The client
 * then does not read its response, or does not send its request. The time must be longer than a request for the change
 * feed can wait (25 s).
 */
const defaultInactivityTimeout = 40_000;
/** An idle connection occupies about 10 kB. */
export const defaultMaxConnections = 5_000;

/** The classes of the `request` and `response` objects that a handler gets. */
export type MessageClasses = Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;

export interface HttpServerOptions {
  readonly handler: RequestListener;
  /** 0 selects any free port. */
  readonly port: number;
  /** The address to listen on. Default: all addresses of this machine. */
  readonly host?: string | undefined;
  /** Builds the responses to malformed requests. Without it, Node sends only a status line. */
  readonly respondToMalformed?: MalformedRequestResponder | undefined;
  readonly messageClasses?: MessageClasses | undefined;
  /** The maximum number of connections. Further connections are closed without a response. */
  readonly maxConnections?: number | undefined;
  /** After how much time without data an unfinished request is aborted, in ms. */
  readonly inactivityTimeout?: number | undefined;
  /** Called for every connection above `maxConnections`. */
  readonly onRefusedConnection?: () => void;
}

export interface HttpServer {
  readonly port: number;
  /** Stops accepting connections and resolves when the last response has been sent, or after 30 s. */
  readonly drain: () => Promise<void>;
}

/** @throws {Error} if the server cannot listen, for example EADDRINUSE if the port is in use */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { handler, port, host, respondToMalformed, messageClasses } = options;
  const server = createServer({
    requestTimeout: 30_000,
    headersTimeout: 15_000,
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 131_072,
    // The check of the Host header that Node has built in responds without a body, so hasOneHost is used instead.
    requireHostHeader: !respondToMalformed,
    ...messageClasses,
  });
  server.maxConnections = options.maxConnections ?? defaultMaxConnections;
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
  // A server may ignore an expectation that it does not support (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  if (respondToMalformed) {
    server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
      const [response, ...later] = queue.responsesOf(socket);
      if (response?.headersSent || later.length > 0 || error.code === 'ECONNRESET') socket.destroy();
      // The previous request is complete, so the error is in the request that follows. The client must first get the
      // response to the previous request. It would mistake an error for this response.
      else if (response?.req.complete) response.setHeader('Connection', 'close');
      else sendMalformedResponse(socket, malformedRequestStatus(error.code), respondToMalformed);
    });
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });

  const drain = (): Promise<void> =>
    new Promise((resolve) => {
      isDraining = true;
      for (const socket of queue.sockets())
        for (const response of queue.responsesOf(socket))
          if (!response.headersSent) response.setHeader('Connection', 'close');
      // Browsers open connections in advance. Node does not treat such a connection as idle before its first request.
      // The request may already be on its way, so the connection is closed a second later.
      setTimeout(() => {
        for (const socket of queue.sockets()) if (socket.bytesRead === 0) socket.destroy();
      }, firstByteTimeout);
      const closeIdle = setInterval(() => server.closeIdleConnections(), closeIdleInterval);
      const timeout = setTimeout(() => server.closeAllConnections(), drainTimeout);
      server.close(() => {
        clearInterval(closeIdle);
        clearTimeout(timeout);
        resolve();
      });
      server.closeIdleConnections();
    });
  return { port: (server.address() as AddressInfo).port, drain };
}
