// Starts and stops a service's or a command's process (docs/behaviour.md, "Start-up").
import {
  defaultMaxConnections,
  drainTimeout,
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from './http/server.ts';
import { type Logger, oncePerMinute } from './logging.ts';

export interface Listener extends HttpServerOptions {
  readonly name: string;
}

export interface ServeOptions {
  readonly listeners: readonly Listener[];
  readonly logger: Logger;
  /** Requests that wait for an event should then respond at once. */
  readonly onStop?: () => void;
  /** Called after the last response. */
  readonly close: () => Promise<void>;
}

const signals = ['SIGTERM', 'SIGINT'] as const;
const closeTimeout = 3_000;
const exitImmediately = (): void => process.exit(0);

/** Serves requests until SIGTERM, SIGINT or the end of a parent process that opened an IPC channel. */
export async function serve({ listeners, logger, onStop, close }: ServeOptions): Promise<void> {
  const servers: HttpServer[] = [];
  let isStopping = false;
  const stop = async (reason: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ reason }, 'stopping');
    // The process must also end if `close` does not finish.
    setTimeout(() => process.exit(1), drainTimeout + closeTimeout).unref();
    onStop?.();
    await Promise.all(servers.map((server) => server.drain()));
    await close().catch((err: unknown) => logger.error({ err }, 'closing failed'));
    logger.info('stopped');
    process.exit(0);
  };
  // Ctrl-C under npm sends two signals, so the new handlers stay registered after the first one.
  process.off('disconnect', exitImmediately);
  for (const signal of signals) {
    process.off(signal, exitImmediately);
    process.on(signal, () => void stop(signal));
  }
  if (process.channel) {
    process.once('disconnect', () => void stop('parent process is gone'));
    // The channel must not keep the process alive.
    process.channel.unref();
  }
  for (const { name, ...options } of listeners) {
    const onRefusedConnection = oncePerMinute(() =>
      logger.warn(
        { listener: name, limit: options.maxConnections ?? defaultMaxConnections },
        'too many connections, refusing new ones',
      ),
    );
    const server = await startHttpServer({ onRefusedConnection, ...options });
    servers.push(server);
    logger.info({ port: server.port, listener: name }, 'listening');
  }
}

interface CommandSyntax {
  readonly least?: number;
  readonly most?: number;
  /** If undefined, the command has no options, and an argument may begin with a dash. */
  readonly options?: readonly string[];
}

/**
 * Returns the arguments of the command without its options.
 * @throws {Error} with the usage of the command if arguments are missing, empty or left over, or an option is unknown
 */
export function commandArguments(usage: string, { least = 0, most = least, options }: CommandSyntax = {}) {
  const values = process.argv.slice(2).filter((argument) => !options?.includes(argument));
  const isInvalid = (value: string): boolean => value === '' || (options !== undefined && /^-./.test(value));
  if (values.length < least || values.length > most || values.some(isInvalid))
    throw new Error(`usage: npm run ${usage}`);
  return values;
}

export function runCommand(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    const { code, port } = error as { code?: string; port?: number };
    const message = Error.isError(error) ? error.message : String(error);
    process.stderr.write(`${code === 'EADDRINUSE' ? `port ${port} is taken` : message}\n`);
    process.exit(1);
  });
}

/**
 * Signals end the process at once until `main` calls `serve`. Process 1 of a container ignores signals that have no
 * handler.
 */
export function runService(main: () => Promise<void>): void {
  for (const signal of signals) process.on(signal, exitImmediately);
  process.on('disconnect', exitImmediately);
  process.channel?.unref();
  runCommand(main);
}
