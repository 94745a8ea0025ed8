// Creates loggers that write one JSON object per line to standard output, without secrets (docs/behaviour.md, "Health,
// metrics and logs").
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

/** Redacted at the top level of a line and one level below. */
const redactedFields = [
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'client_secret',
  'clientSecret',
  'token',
  'access_token',
  'refresh_token',
  'id_token',
  'code',
  'code_verifier',
  'secret',
  'dpop',
];

export interface LoggerSettings {
  readonly service: string;
  readonly level: string;
  readonly destination?: DestinationStream;
}

export function createLogger({ service, level, destination = standardOutput() }: LoggerSettings): Logger {
  const options: LoggerOptions = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: serializeError },
    redact: {
      paths: redactedFields.flatMap((field) => [`["${field}"]`, `*["${field}"]`]),
      censor: '[redacted]',
    },
  };
  return pino(options, destination);
}

/** For lines whose fields cannot contain a secret. Redaction takes more CPU time than all other work on a line. */
export const withoutRedaction = (logger: Logger): Logger => logger.child({}, { redact: [] });

/** Omits PostgreSQL's `detail`, `where` and `parameters`, which contain values of rows. */
function serializeError(error: unknown): Record<string, unknown> {
  if (!Error.isError(error)) return { message: String(error) };
  const { name, message, stack, code, cause } = error as Error & { code?: unknown };
  return {
    type: name,
    message,
    // A field named `code` would be redacted like OAuth codes.
    ...(code !== undefined && { errorCode: code }),
    stack,
    ...(cause !== undefined && { cause: serializeError(cause) }),
  };
}

/** For lines that every request could write. Further calls within a minute do nothing. */
export function oncePerMinute<T extends unknown[]>(work: (...values: T) => void): (...values: T) => void {
  let lastRunAt = Number.NEGATIVE_INFINITY;
  return (...values) => {
    if (performance.now() - lastRunAt < 60_000) return;
    lastRunAt = performance.now();
    work(...values);
  };
}

const flushInterval = 100;
const bufferLength = 8_192;
/** While the output cannot be written, further lines are dropped. */
const maxBufferLength = 1_000_000;
let output: ReturnType<typeof pino.destination> | undefined;
let failedWrites = 0;

/** The number of blocks of lines that could not be written since the process started. */
export const failedLogWrites = (): number => failedWrites;

/** Buffers lines, because one system call per line would take a tenth of a request's CPU time. */
function standardOutput(): DestinationStream {
  if (output) return output;
  const destination = pino.destination({
    dest: 1,
    sync: true,
    minLength: bufferLength,
    maxLength: maxBufferLength,
    periodicFlush: flushInterval,
  });
  // The service continues when the disk is full. The destination writes the failed block again with the next one.
  let isFailing = false;
  destination.on('error', () => {
    isFailing = true;
    failedWrites += 1;
  });
  destination.on('write', () => {
    isFailing = false;
  });
  process.once('exit', () => {
    // `flush` writes before it returns. `flushSync` would repeat a failing write forever.
    destination.flush();
    if (!isFailing) destination.flushSync();
  });
  output = destination;
  return destination;
}
