// Starts and stops the process of a service or a command. On SIGTERM or SIGINT, a service finishes the requests in
// flight, closes its resources and exits with code 0 (docs/behaviour.md, "Start-up").
import { drainTimeout, type HttpServer, type HttpServerOptions, startHttpServer } from './http/server.ts';
import type { Logger } from './logging.ts';

export interface Listener extends HttpServerOptions {
  /** Distinguishes the listeners of a process in the log. */
  readonly name: string;
}

export interface ServeOptions {
  readonly listeners: readonly Listener[];
  readonly logger: Logger;
  /** Called when the service begins to stop, so that requests which wait for an event can respond immediately. */
  readonly onStop?: () => void;
  /** Called after the last response. Closes the resources of the service, such as its connection pool. */
  readonly close: () => Promise<void>;
}

const signals = ['SIGTERM', 'SIGINT'] as const;
/** How long the resources of the service may take to close, in ms. */
const closeTimeout = 3_000;
const exitImmediately = (): void => process.exit(0);

/**
 * Serves requests until the process gets SIGTERM or SIGINT. If the parent process has opened an IPC channel, the
 * service also stops when the parent process ends.
 * @throws {Error} if a server cannot listen, for example because its port is in use
 */
export async function serve({ listeners, logger, onStop, close }: ServeOptions): Promise<void> {
  const servers: HttpServer[] = [];
  let isStopping = false;
  const stop = async (reason: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ reason }, 'stopping');
    // If `close` does not finish, the process must still end.
    setTimeout(() => process.exit(1), drainTimeout + closeTimeout).unref();
    onStop?.();
    await Promise.all(servers.map((server) => server.drain()));
    await close().catch((err: unknown) => logger.error({ err }, 'closing failed'));
    logger.info('stopped');
    process.exit(0);
  };
  // Replaces the handlers of runService, which end the process immediately. The new handlers stay registered after the
  // first signal: Ctrl-C under npm sends two signals, and without a handler the second signal would abort requests in
  // flight.
  process.off('disconnect', exitImmediately);
  for (const signal of signals) {
    process.off(signal, exitImmediately);
    process.on(signal, () => void stop(signal));
  }
  if (process.channel) {
    process.once('disconnect', () => void stop('parent process is gone'));
    // The channel alone must not keep the process alive.
    process.channel.unref();
  }
  for (const { name, ...options } of listeners) {
    const onRefusedConnection = oncePerMinute(() =>
      logger.warn({ listener: name, limit: options.maxConnections }, 'too many connections, refusing new ones'),
    );
    const server = await startHttpServer({ onRefusedConnection, ...options });
    servers.push(server);
    logger.info({ port: server.port, listener: name }, 'listening');
  }
}

function oncePerMinute(work: () => void): () => void {
  let lastRunAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - lastRunAt < 60_000) return;
    lastRunAt = performance.now();
    work();
  };
}

/** Runs the function `main` of a command. If `main` fails, prints the message of the error and exits with code 1. */
export function runCommand(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    const { code, port } = error as { code?: string; port?: number };
    const message = Error.isError(error) ? error.message : String(error);
    process.stderr.write(`${code === 'EADDRINUSE' ? `port ${port} is taken` : message}\n`);
    process.exit(1);
  });
}

/**
 * Runs the `main` of a service, which calls `serve`. Before this call, SIGTERM and SIGINT end the service immediately.
 * The handlers are necessary, because process 1 of a container ignores signals for which it has no handler.
 */
export function runService(main: () => Promise<void>): void {
  for (const signal of signals) process.on(signal, exitImmediately);
  process.on('disconnect', exitImmediately);
  process.channel?.unref();
  runCommand(main);
}
