// Where do a process's words go? One JSON object a line on standard output, never with a password, secret, token, code or cookie
// (contract section 2).
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

const secrets = [
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

/**
 * Of an error, what helps and cannot leak: PostgreSQL's `detail`, `where` and `parameters` quote rows, so they are left out.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!Error.isError(error)) return { message: String(error) };
  const { name, message, stack, code, cause } = error as Error & { code?: unknown };
  return {
    type: name,
    message,
    // Not `code`: that word is struck out everywhere, since OAuth's codes are secrets.
    ...(code !== undefined && { errorCode: code }),
    stack,
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
}

export function createLogger(options: { service: string; level: string; destination?: DestinationStream }): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: { service: options.service },
    timestamp: timestamps(),
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    redact: {
      paths: [
        ...secrets.map((key) => (key.includes('-') ? `["${key}"]` : key)),
        ...secrets.map((key) => `*["${key}"]`),
      ],
      censor: '[redacted]',
    },
  };
  return pino(settings, options.destination ?? standardOutput());
}

/** A millisecond sees many lines under load. */
function timestamps(): () => string {
  let at = 0;
  let written = '';
  return () => {
    const now = Date.now();
    if (now !== at) {
      at = now;
      written = `,"time":"${new Date(now).toISOString()}"`;
    }
    return written;
  };
}

/** For lines whose every field is written by us and cannot hold a secret: redaction would cost more than all else about them. */
export function withoutRedaction(logger: Logger): Logger {
  return logger.child({}, { redact: [] });
}

const flushEvery = 100;
/** Characters that wait while they cannot be written; what comes beyond is dropped. */
const heldAtMost = 1_000_000;
let output: ReturnType<typeof pino.destination> | undefined;
let failedWrites = 0;

/** How often a block of lines could not be written so far. */
export const failedLogWrites = (): number => failedWrites;

/** A system call for each line would be a tenth of a request's cost: lines leave in blocks, at the latest after 100 ms or at the end. */
function standardOutput(): DestinationStream {
  if (!output) {
    const opened = pino.destination({
      dest: 1,
      sync: true,
      minLength: 8_192,
      maxLength: heldAtMost,
      periodicFlush: flushEvery,
    });
    // A full disk is no reason to stop serving: the block is tried again with the next one.
    let failing = false;
    opened.on('error', () => {
      failing = true;
      failedWrites += 1;
    });
    opened.on('write', () => {
      failing = false;
    });
    process.once('exit', () => {
      // Where nothing can be written, flushSync would try for ever; flush notices.
      opened.flush();
      if (!failing) opened.flushSync();
    });
    output = opened;
  }
  return output;
}
