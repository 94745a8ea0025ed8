// Reads a service's configuration from environment variables (docs/behaviour.md, "Configuration"). All errors are
// reported together. An empty variable counts as unset.
import { createNetworkCheck } from './outbound.ts';

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One sentence per error. Each sentence begins with a variable's name. */
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    const count = errors.length === 1 ? 'an error' : `${errors.length} errors`;
    super(`The configuration has ${count}:\n${errors.map((error) => `  ${error}`).join('\n')}`);
    this.errors = errors;
  }
}

interface Field<T> {
  readonly variable: string;
  /**
   * Throws an error whose message completes a sentence that begins with the variable's name, such as "must be true or
   * false".
   */
  readonly parse: (text: string) => T;
  /** A variable that has no `fallback` is mandatory. */
  readonly fallback?: { readonly value: T };
}

type Fields = Readonly<Record<string, Field<unknown>>>;
export type ConfigOf<F extends Fields> = { readonly [Key in keyof F]: F[Key] extends Field<infer T> ? T : never };

/** @throws {ConfigError} with `moreErrors` and an error for each missing or invalid variable */
export function readConfig<const F extends Fields>(
  environment: NodeJS.ProcessEnv,
  fields: F,
  moreErrors: readonly string[] = [],
): ConfigOf<F> {
  const errors: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, { variable, parse, fallback }] of Object.entries(fields)) {
    const text = environment[variable]?.trim();
    if (text === undefined || text === '') {
      if (fallback) values[key] = fallback.value;
      else errors.push(`${variable} is missing`);
      continue;
    }
    try {
      values[key] = parse(text);
    } catch (error) {
      errors.push(`${variable} ${(error as Error).message}`);
    }
  }
  errors.push(...moreErrors);
  if (errors.length > 0) throw new ConfigError(errors);
  return Object.freeze(values) as ConfigOf<F>;
}

export const mandatory = <T>(variable: string, parse: (text: string) => T): Field<T> => ({ variable, parse });

export function optional<T>(variable: string, parse: (text: string) => T): Field<T | undefined>;
export function optional<T>(variable: string, parse: (text: string) => T, fallback: T): Field<T>;
export function optional<T>(variable: string, parse: (text: string) => T, fallback?: T): Field<T | undefined> {
  return { variable, parse, fallback: { value: fallback } };
}

export const text = (value: string): string => value;

export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^-?\d+$/.test(value) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  };

/** If the port is 0, the operating system chooses a free port. */
export const port = integer(0, 65_535);
/** From one second to ten years. */
export const seconds = integer(1, 315_360_000);

export const oneOf =
  <const T extends readonly string[]>(...choices: T) =>
  (value: string): T[number] => {
    if (!choices.includes(value)) throw new Error(`must be one of ${choices.join(', ')}`);
    return value;
  };

export const flag = (value: string): boolean => oneOf('on', 'off')(value) === 'on';

/** Removes trailing slashes. */
export const url =
  (...protocols: readonly string[]) =>
  (value: string): string => {
    const parsed = URL.parse(value);
    if (!parsed || !protocols.includes(parsed.protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  };

/** Rejects credentials: requests would not send them, and error messages would log them. */
export const httpUrl = (value: string): string => {
  const address = url('http:', 'https:')(value);
  const { username, password } = new URL(address);
  if (username || password) throw new Error('must contain no user and no password');
  return address;
};

export const baseUrl = (value: string): string => {
  if (/[?#]/.test(value)) throw new Error('must contain no query and no fragment');
  return httpUrl(value);
};

export const postgresUrl = url('postgres:', 'postgresql:');

export const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

export const encryptionKey = (value: string): Buffer => {
  // `Buffer.from` ignores characters that are not base64. The regular expression finds them.
  const key = Buffer.from(value, 'base64');
  if (key.length !== 32 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) throw new Error('must be 32 bytes in base64');
  return key;
};

/** The first key encrypts, and every key decrypts. */
export const encryptionKeys = (value: string): readonly [Buffer, ...Buffer[]] => {
  const [first = '', ...others] = list(value);
  return [encryptionKey(first), ...others.map(encryptionKey)];
};

export const networks = (value: string): readonly string[] => {
  const found = list(value);
  try {
    createNetworkCheck(found);
  } catch {
    throw new Error('must be a list of networks in CIDR notation, such as 10.0.0.0/8');
  }
  return found;
};

export const logLevel = oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent');

/** A URI scheme, a colon and the characters that a scope may have (RFC 6749 section 3.3). */
const scopeBaseFormat = /^[a-z][a-z0-9+.-]*:[\x21\x23-\x5b\x5d-\x7e]+$/i;

export const scopeBase = (value: string): string => {
  const base = value.replace(/\/+$/, '');
  if (!scopeBaseFormat.test(base) || !URL.canParse(base))
    throw new Error('must be a URI of visible ASCII characters without quotation marks and backslashes');
  return base;
};

/**
 * Parses the setting `trust proxy` of Express. `true` means one proxy: Express would take the first IP address of
 * X-Forwarded-For, which the client itself can choose.
 */
export const trustProxy = (value: string): false | number | string => {
  if (/^\d+$/.test(value)) return Number(value);
  if (value === 'true') return 1;
  if (value === 'false') return false;
  if (!value.split(',').every((entry) => isAddressOrNetwork(entry.trim()))) {
    throw new Error('must be true, false, a number of proxies, or a list of addresses and networks');
  }
  return value;
};

function isAddressOrNetwork(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  try {
    createNetworkCheck([text]);
  } catch {
    return false;
  }
  // The prefix length 0 matches every IP address, so a client could choose its own.
  return !/\/0+$/.test(text);
}
