// What does the environment say? Variables become one typed, frozen object; every fault is reported at once, by variable name
// (contract section 2). An empty variable counts as unset.
import { isIP } from 'node:net';

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    super(
      `The configuration has ${errors.length === 1 ? 'a fault' : `${errors.length} errors`}:\n${errors.map((error) => `  ${error}`).join('\n')}`,
    );
    this.errors = errors;
  }
}

/** One variable: how it is read, and what stands in for it when it is unset (without `fallback` it is mandatory). */
export interface Field<T> {
  readonly variable: string;
  /** Throws an Error whose message completes the sentence "VARIABLE …". */
  readonly parse: (text: string) => T;
  readonly fallback?: { readonly value: T };
}

type Fields = Readonly<Record<string, Field<unknown>>>;
export type Config<F extends Fields> = { readonly [Key in keyof F]: F[Key] extends Field<infer T> ? T : never };

/** @throws {ConfigError} naming every variable that is missing or malformed */
export function readConfig<const F extends Fields>(environment: NodeJS.ProcessEnv, fields: F): Config<F> {
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
  if (errors.length > 0) throw new ConfigError(errors);
  return Object.freeze(values) as Config<F>;
}

export function mandatory<T>(variable: string, parse: (text: string) => T): Field<T> {
  return { variable, parse };
}

export function optional<T>(variable: string, parse: (text: string) => T): Field<T | undefined>;
export function optional<T>(variable: string, parse: (text: string) => T, fallback: T): Field<T>;
export function optional<T>(variable: string, parse: (text: string) => T, fallback?: T): Field<T | undefined> {
  return { variable, parse, fallback: { value: fallback } };
}

export const text = (value: string): string => value;

/** A whole number within inclusive bounds. */
export const integer =
  (least: number, greatest: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^-?\d+$/.test(value) || number < least || number > greatest) {
      throw new Error(`must be a whole number from ${least} to ${greatest}`);
    }
    return number;
  };

export const port = integer(0, 65_535);
/** Seconds, one at least and ten years at most. */
export const seconds = integer(1, 315_360_000);

export const flag = (value: string): boolean => {
  if (/^(true|1|yes|on)$/i.test(value)) return true;
  if (/^(false|0|no|off)$/i.test(value)) return false;
  throw new Error('must be true or false');
};

export const oneOf =
  <const T extends readonly string[]>(...choices: T) =>
  (value: string): T[number] => {
    if (!choices.includes(value)) throw new Error(`must be one of ${choices.join(', ')}`);
    return value;
  };

/** An absolute address, answered without a slash at its end. */
export const url =
  (...protocols: readonly string[]) =>
  (value: string): string => {
    const parsed = URL.parse(value);
    if (!parsed || !protocols.includes(parsed.protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  };

/** Without user and password: nothing would send them, and what fails would log them. */
export const httpUrl = (value: string): string => {
  const address = url('http:', 'https:')(value);
  const { username, password } = new URL(address);
  if (username || password) throw new Error('must hold no user and no password');
  return address;
};

/** To which paths are added. */
export const baseUrl = (value: string): string => {
  if (/[?#]/.test(value)) throw new Error('must hold no query and no fragment');
  return httpUrl(value);
};

export const postgresUrl = url('postgres:', 'postgresql:');

export const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

export const logLevel = oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent');

/** `{scope_base}`, answered without a slash at its end. It becomes part of scopes, which know no spaces and no quotes. */
export const scopeBase = (value: string): string => {
  const base = value.replace(/\/+$/, '');
  if (!/^[a-z][a-z0-9+.-]*:[\x21\x23-\x5b\x5d-\x7e]+$/i.test(base) || !URL.canParse(base)) {
    throw new Error('must be a URI without spaces');
  }
  return base;
};

/**
 * Whom to believe about a client's address, as Express's `trust proxy` takes it: `true`, `false`, a number of hops, or a list of
 * addresses and networks.
 */
export const trustProxy = (value: string): boolean | number | string => {
  if (/^\d+$/.test(value)) return Number(value);
  if (/^(true|false)$/.test(value)) return value === 'true';
  if (!value.split(',').every((entry) => isNetwork(entry.trim()))) {
    throw new Error('must be true, false, a number of proxies, or a list of addresses and networks');
  }
  return value;
};

function isNetwork(entry: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(entry)) return true;
  const [address = '', prefix, ...rest] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    prefix === undefined ||
    (/^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= (version === 4 ? 32 : 128))
  );
}

/** Networks in CIDR notation, separated by commas. An address alone is a network of one address. */
export const networks = (value: string): readonly string[] => {
  const entries = list(value);
  const wrong = entries.find((entry) => isIP(entry.split('/')[0] ?? '') === 0 || !isNetwork(entry));
  if (wrong !== undefined) throw new Error(`must list networks such as 10.0.0.0/8, and ${wrong} is not one`);
  return entries;
};
