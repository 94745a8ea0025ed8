// How does a process begin and end? Listen; on SIGTERM or SIGINT stop accepting, finish what is in flight (30 s at most), close
// what was opened, exit 0 (contract section 2).
import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  hasHost,
  type MalformedRequestResponder,
  malformedRequestStatus,
  sendMalformedResponse,
} from './http/malformed-request.ts';
import type { Logger } from './logging.ts';

const drainLimit = 30_000;
const silentLimit = 1_000;

export interface Listening {
  readonly port: number;
  /** Stops accepting and resolves when the last answer is out, or after 30 s. */
  readonly drain: () => Promise<void>;
}

/** @throws {Error} such as EADDRINUSE */
export async function listen(
  handler: RequestListener,
  port: number,
  { respondToMalformed, messageClasses }: Pick<Listener, 'respondToMalformed' | 'messageClasses'> = {},
): Promise<Listening> {
  // Not a Set: outgrown tables of one that changes thousands of times a second hold on to each other, and with them to old requests,
  // until the next full garbage collection.
  const answering: (ServerResponse | undefined)[] = [];
  const free: number[] = [];
  let draining = false;
  const server = createServer({
    requestTimeout: 30_000,
    headersTimeout: 15_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 131_072,
    // Node would answer without a body.
    requireHostHeader: !respondToMalformed,
    ...messageClasses,
  });
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (_request, response) => {
    if (draining) response.setHeader('Connection', 'close');
    const slot = free.pop() ?? answering.length;
    answering[slot] = response;
    response.on('close', () => {
      answering[slot] = undefined;
      free.push(slot);
    });
  });
  const answer: RequestListener = (request, response) => {
    if (!respondToMalformed || hasHost(request)) handler(request, response);
    else sendMalformedResponse(request.socket, 400, respondToMalformed);
  };
  server.on('request', answer);
  // An expectation that is not known may be left alone (RFC 9110 section 10.1.1).
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  if (respondToMalformed) {
    server.on('clientError', (error: Error & { code?: string }, socket) => {
      const begun = answering.some((response) => response?.socket === socket && response.headersSent);
      if (begun || error.code === 'ECONNRESET') socket.destroy();
      else sendMalformedResponse(socket, malformedRequestStatus(error.code), respondToMalformed);
    });
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    drain: () => {
      draining = true;
      for (const response of answering)
        if (response && !response.headersSent) response.setHeader('Connection', 'close');
      // Browsers open some in advance, and Node takes one that has asked nothing yet for busy. Its first request may be on the way.
      setTimeout(() => {
        for (const connection of connections) if (connection.bytesRead === 0) connection.destroy();
      }, silentLimit);
      return closeServer(server);
    },
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    const limit = setTimeout(() => server.closeAllConnections(), drainLimit);
    server.close(() => {
      clearInterval(idle);
      clearTimeout(limit);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** The classes of what a handler is given. */
export type MessageClasses = Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;

export interface Listener {
  readonly name: string;
  readonly handler: RequestListener;
  readonly port: number;
  /** What to say to a request that cannot be read; without it, Node's bare status. */
  readonly respondToMalformed?: MalformedRequestResponder;
  readonly messageClasses?: MessageClasses;
}

export interface ServeOptions {
  readonly listeners: readonly Listener[];
  readonly logger: Logger;
  readonly close: () => Promise<void>;
}

const signals = ['SIGTERM', 'SIGINT'] as const;
const leave = (): void => process.exit(0);

/** Serves until a signal says to stop, or until the supervisor that started us with an IPC channel is gone. */
export async function serve({ listeners, logger, close }: ServeOptions): Promise<void> {
  const open: Listening[] = [];
  let stopping = false;
  const stop = async (reason: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    logger.info({ reason }, 'stopping');
    // Whatever hangs in `close` must not keep the process: the limit is that of the drain and a little more.
    setTimeout(() => process.exit(1), drainLimit + 3_000).unref();
    await Promise.all(open.map((listening) => listening.drain()));
    await close().catch((err: unknown) => logger.error({ err }, 'closing failed'));
    logger.info('stopped');
    process.exit(0);
  };
  for (const signal of signals) process.off(signal, leave);
  process.off('disconnect', leave);
  // Not once: the default of a second signal (npm hands on a Ctrl-C that the terminal has sent already) would end what is in flight.
  for (const signal of signals) process.on(signal, () => void stop(signal));
  if (process.channel) {
    process.once('disconnect', () => void stop('supervisor gone'));
    process.channel.unref();
  }
  for (const { name, handler, port, ...more } of listeners) {
    const listening = await listen(handler, port, more);
    open.push(listening);
    logger.info({ port: listening.port, listener: name }, 'listening');
  }
}

/** Runs `main` and turns what it throws into one clear report and exit code 1. */
export function runCommand(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    const { code, port } = error as { code?: string; port?: number };
    const message =
      code === 'EADDRINUSE' ? `port ${port} is taken` : Error.isError(error) ? error.message : String(error);
    process.stderr.write(`${message}\n`);
    process.exit(1);
  });
}

/** The same for a service, which may be told to stop before it serves: as the first process of a container it would not hear that. */
export function runService(main: () => Promise<void>): void {
  for (const signal of signals) process.on(signal, leave);
  process.on('disconnect', leave);
  process.channel?.unref();
  runCommand(main);
}
