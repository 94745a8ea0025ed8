// Runs an HTTP server that finishes its requests before it closes, and that responds to malformed requests.
import { createServer, type RequestListener, type ServerOptions, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  hasHost,
  type MalformedRequestResponder,
  malformedRequestStatus,
  sendMalformedResponse,
} from './malformed-request.ts';

/** How long `drain` waits for the responses, in ms. */
export const drainTimeout = 30_000;
/** How long `drain` waits for the first byte of a connection that has not sent anything, in ms. */
const firstByteTimeout = 1_000;
const closeIdleInterval = 50;

/** The classes of the `request` and `response` objects that a handler gets. */
export type MessageClasses = Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;

export interface HttpServerOptions {
  readonly handler: RequestListener;
  /** 0 for a free port. */
  readonly port: number;
  /** The address to listen on; all addresses unless given. */
  readonly host?: string | undefined;
  /** Builds the responses to malformed requests. Without it, Node sends only a status line. */
  readonly respondToMalformed?: MalformedRequestResponder | undefined;
  readonly messageClasses?: MessageClasses | undefined;
}

export interface HttpServer {
  readonly port: number;
  /** Stops accepting connections and resolves when the last response has been sent, or after 30 s. */
  readonly drain: () => Promise<void>;
}

/** @throws {Error} such as EADDRINUSE */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { handler, port, host, respondToMalformed, messageClasses } = options;
  const server = createServer({
    requestTimeout: 30_000,
    headersTimeout: 15_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 131_072,
    // Node's own check of the Host header responds without a body.
    requireHostHeader: !respondToMalformed,
    ...messageClasses,
  });
  /**
   * The open connections, each with the responses to its pipelined requests, of which the first one is being sent.
   * Arrays, because V8's old tables of a Set that changes for every request keep finished requests in memory (p99 of
   * a small GET: 17 instead of 2.5 ms).
   */
  const connections = new Map<Socket, ServerResponse[]>();
  let isDraining = false;
  server.on('connection', (socket) => {
    connections.set(socket, []);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    if (isDraining) response.setHeader('Connection', 'close');
    const responses = connections.get(socket);
    responses?.push(response);
    response.on('close', () => responses?.splice(responses.indexOf(response), 1));
    if (respondToMalformed && !hasHost(request)) sendMalformedResponse(socket, 400, respondToMalformed);
    else handler(request, response);
  });
  // A server may ignore an expectation that it does not support (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  if (respondToMalformed) {
    server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
      if (connections.get(socket)?.[0]?.headersSent || error.code === 'ECONNRESET') socket.destroy();
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
      for (const response of [...connections.values()].flat())
        if (!response.headersSent) response.setHeader('Connection', 'close');
      // Browsers open connections in advance. Node does not count them as idle before their first request, which may
      // be on its way.
      setTimeout(() => {
        for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
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
