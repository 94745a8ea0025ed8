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
  /** Called before the servers drain, so that requests which wait can end at once. */
  readonly onStop?: () => void;
  /** Closes the resources of the service, such as its connection pool, after the last response. */
  readonly close: () => Promise<void>;
}

const signals = ['SIGTERM', 'SIGINT'] as const;
const exitImmediately = (): void => process.exit(0);

/** Serves until a signal arrives, or until the parent process that has opened an IPC channel is gone. */
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
  // `on` and not `once`: Ctrl-C under npm sends two signals, and the default action of the second one would abort
  // requests in flight.
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

/** Runs `main`. If it throws, prints one line and exits with code 1. */
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
 * Runs the `main` of a service. Signals also end a service that is still starting, even as process 1 of a container.
 */
export function runService(main: () => Promise<void>): void {
  for (const signal of signals) process.on(signal, exitImmediately);
  process.on('disconnect', exitImmediately);
  process.channel?.unref();
  runCommand(main);
}
