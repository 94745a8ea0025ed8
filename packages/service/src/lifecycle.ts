// Starts and stops a process. On SIGTERM or SIGINT a service finishes the requests in flight, closes its resources
// and exits with code 0 (docs/behaviour.md, "Start-up").
import { drainTimeout, type HttpServer, type HttpServerOptions, startHttpServer } from './http/server.ts';
import type { Logger } from './logging.ts';

export interface Listener extends HttpServerOptions {
  /** Distinguishes the listeners of a process in the log. */
  readonly name: string;
}

export interface ServeOptions {
  readonly listeners: readonly Listener[];
  readonly logger: Logger;
  /** Called before the servers drain, so that requests which wait for an event can respond immediately. */
  readonly onStop?: () => void;
  /** Closes the resources of the service, such as its connection pool, after the last response. */
  readonly close: () => Promise<void>;
}

const signals = ['SIGTERM', 'SIGINT'] as const;
const exitImmediately = (): void => process.exit(0);

/**
 * Serves requests until a signal arrives. If the parent process has opened an IPC channel, the service also stops when
 * the parent process ends.
 */
export async function serve({ listeners, logger, onStop, close }: ServeOptions): Promise<void> {
  const servers: HttpServer[] = [];
  let isStopping = false;
  const stop = async (reason: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ reason }, 'stopping');
    // If `close` does not finish, the process must still end.
    setTimeout(() => process.exit(1), drainTimeout + 3_000).unref();
    onStop?.();
    await Promise.all(servers.map((server) => server.drain()));
    await close().catch((err: unknown) => logger.error({ err }, 'closing failed'));
    logger.info('stopped');
    process.exit(0);
  };
  for (const signal of signals) process.off(signal, exitImmediately);
  process.off('disconnect', exitImmediately);
  // The handlers stay registered after the first signal. Ctrl-C under npm sends two signals, and without a handler the
  // second signal would abort requests in flight.
  for (const signal of signals) process.on(signal, () => void stop(signal));
  if (process.channel) {
    process.once('disconnect', () => void stop('parent process is gone'));
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
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - last < 60_000) return;
    last = performance.now();
    work();
  };
}

/** Runs the `main` of a command. If it throws an error, prints the message of the error and exits with code 1. */
export function runCommand(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    const { code, port } = error as { code?: string; port?: number };
    const message =
      code === 'EADDRINUSE' ? `port ${port} is taken` : Error.isError(error) ? error.message : String(error);
    process.stderr.write(`${message}\n`);
    process.exit(1);
  });
}

/**
 * Runs the `main` of a service. A signal also ends a service that is still starting. This needs a handler, because a
 * service that is process 1 of a container ignores signals without a handler.
 */
export function runService(main: () => Promise<void>): void {
  for (const signal of signals) process.on(signal, exitImmediately);
  process.on('disconnect', exitImmediately);
  process.channel?.unref();
  runCommand(main);
}
