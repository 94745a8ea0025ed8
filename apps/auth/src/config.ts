// What does the environment tell the authorization server? Contract section 2; apps/auth/README.md lists every variable.
import { readFileSync } from 'node:fs';
import {
  ConfigError,
  flag,
  httpUrl,
  integer,
  list,
  logLevel,
  mandatory,
  oneOf,
  optional,
  port,
  postgresUrl,
  readConfig,
  scopeBase,
  seconds,
  trustProxy,
  url,
} from '@bay-booking/service/config';
import { defaultSignInLimits } from './guard/sign-in-guard.ts';
import { isLoopback } from './http/loopback.ts';
import { parseSocialProviders, type SocialProviders } from './social/settings.ts';

const origin = (value: string): string => {
  const address = httpUrl(value);
  const { pathname, search, hash, username } = new URL(address);
  if (pathname !== '/' || search || hash || username) {
    throw new Error('must be scheme, host and port alone, such as https://id.example.com');
  }
  return new URL(address).origin;
};

/** A secret is never repeated in a fault. */
export const encryptionKey = (value: string): Buffer => {
  const key = Buffer.from(value, 'base64');
  if (key.length !== 32 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) throw new Error('must be 32 bytes in base64');
  return key;
};

const cookieKeys = (value: string): readonly string[] => {
  const keys = list(value);
  if (keys.length === 0 || keys.some((key) => key.length < 32)) {
    throw new Error('must be comma-separated keys of 32 characters or more each');
  }
  return keys;
};

const sender = (value: string): string => {
  if (!/^(?:[^<>]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(value)) {
    throw new Error('must be an e-mail address, alone or as Name <address>');
  }
  return value;
};

const socialProviders = (file: string): SocialProviders => {
  let json: string;
  try {
    json = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`cannot be read: ${(error as Error).message}`);
  }
  return parseSocialProviders(json);
};

const fields = {
  databaseUrl: mandatory('DATABASE_URL', postgresUrl),
  issuer: mandatory('ISSUER', origin),
  cookieKeys: mandatory('COOKIE_KEYS', cookieKeys),
  encryptionKey: mandatory('KEY_ENCRYPTION_KEY', encryptionKey),
  port: optional('PORT', port, 4000),
  metricsPort: optional('METRICS_PORT', port),
  scopeBase: optional('SCOPE_BASE', scopeBase, 'https://bay-booking.example'),
  bookingsAudience: optional('BOOKINGS_AUDIENCE', httpUrl),
  socialProviders: optional('SOCIAL_PROVIDERS_FILE', socialProviders, new Map() as SocialProviders),
  accessTokenTtl: optional('ACCESS_TOKEN_TTL', seconds, 3600),
  refreshTokenTtl: optional('REFRESH_TOKEN_TTL', seconds, 30 * 24 * 3600),
  keyPublishDelay: optional('KEY_PUBLISH_DELAY', integer(0, 7 * 24 * 3600), 30),
  trustProxy: optional('TRUST_PROXY', trustProxy, false),
  rateLimitPerMinute: optional('RATE_LIMIT_PER_MINUTE', integer(0, 1_000_000), 0),
  smtpUrl: optional('SMTP_URL', url('smtp:', 'smtps:')),
  mail: optional('MAIL', oneOf('on', 'off'), 'on'),
  mailFrom: optional('MAIL_FROM', sender),
  lockoutAccountFailures: optional('LOCKOUT_ACCOUNT_FAILURES', integer(3, 1_000), defaultSignInLimits.accountFailures),
  lockoutAddressFailures: optional(
    'LOCKOUT_ADDRESS_FAILURES',
    integer(3, 1_000_000),
    defaultSignInLimits.addressFailures,
  ),
  lockoutSeconds: optional('LOCKOUT_SECONDS', integer(1, 24 * 3600), defaultSignInLimits.lockout),
  lockoutSlowDown: optional('LOCKOUT_SLOW_DOWN_MS', integer(0, 2_000), defaultSignInLimits.slowDown),
  databasePoolMax: optional('DB_POOL_MAX', integer(1, 200), 10),
  databasePrepared: optional('DB_PREPARED', flag, true),
  logLevel: optional('LOG_LEVEL', logLevel, 'info'),
};

export type AuthConfig = ReturnType<typeof readAuthConfig>;

/** @throws {ConfigError} */
export function readAuthConfig(environment: NodeJS.ProcessEnv) {
  const production = environment.NODE_ENV === 'production';
  // The rule over several variables is told together with the faults of single ones, so that one run shows them all.
  const mailFault =
    production && !environment.SMTP_URL?.trim() && environment.MAIL?.trim() !== 'off'
      ? ['SMTP_URL is missing (with NODE_ENV=production mail must go somewhere; MAIL=off turns it off)']
      : [];
  try {
    const read = readConfig(environment, fields);
    if (mailFault.length > 0) throw new ConfigError([]);
    const loopback = isLoopback(read.issuer);
    return Object.freeze({
      ...read,
      production,
      signInLimits: {
        accountFailures: read.lockoutAccountFailures,
        addressFailures: read.lockoutAddressFailures,
        lockout: read.lockoutSeconds,
        slowDown: read.lockoutSlowDown,
      },
      /** Development alone lets implicit clients have `http://localhost` redirect URIs. */
      development: loopback && !production,
      // Beside a local issuer stands the local Bookings API; elsewhere its address cannot be guessed, but what the scopes are named
      // after can stand for it.
      bookingsAudience: read.bookingsAudience ?? (loopback ? 'http://localhost:4001' : read.scopeBase),
      mailFrom: read.mailFrom ?? `Bay Booking <no-reply@${new URL(read.issuer).hostname}>`,
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError([...error.errors, ...mailFault]);
  }
}
