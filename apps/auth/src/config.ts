// Reads the configuration of auth from environment variables. apps/auth/README.md describes every variable.
import { readFileSync } from 'node:fs';
import {
  encryptionKeys,
  flag,
  httpUrl,
  integer,
  list,
  logLevel,
  mandatory,
  networks,
  oneOf,
  optional,
  port,
  postgresUrl,
  readConfig,
  scopeBase,
  seconds,
  text,
  trustProxy,
  url,
} from '@bay-booking/service/config';
import {
  developmentSecretErrors,
  isLoopback,
  isPublicService,
  unencryptedIssuerErrors,
} from '@bay-booking/service/public-address';
import { parseSocialProviders, type SocialProviderSettings } from './social/settings.ts';

// Each function parses one variable. Its error message continues the sentence "VARIABLE ...", for example "ISSUER must
// be https", and never contains a secret.

/** Parses a URL that consists of scheme, host and port. */
const origin = (value: string): string => {
  const address = httpUrl(value);
  const { pathname, search, hash, username } = new URL(address);
  if (pathname !== '/' || search || hash || username) {
    throw new Error('must contain scheme, host and port only, such as https://id.example.com');
  }
  return new URL(address).origin;
};

const cookieKeys = (value: string): readonly string[] => {
  const keys = list(value);
  if (keys.length === 0 || keys.some((key) => key.length < 32)) {
    throw new Error('must be comma-separated keys of 32 characters or more each');
  }
  return keys;
};

/** Checks the sender of e-mails: `address@host`, or `Name <address@host>`. */
const sender = (value: string): string => {
  if (!/^(?:[^<>]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(value)) {
    throw new Error('must be an e-mail address, or a name and an address: Name <address>');
  }
  return value;
};

const socialProviders = (file: string): SocialProviderSettings => {
  let json: string;
  try {
    json = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`cannot be read: ${(error as Error).message}`);
  }
  return parseSocialProviders(json);
};

export const migrationsDirectory = `${import.meta.dirname}/../migrations`;

const fields = {
  databaseUrl: mandatory('DATABASE_URL', postgresUrl),
  issuer: mandatory('ISSUER', origin),
  cookieKeys: mandatory('COOKIE_KEYS', cookieKeys),
  encryptionKeys: mandatory('KEY_ENCRYPTION_KEY', encryptionKeys),
  host: optional('HOST', text),
  port: optional('PORT', port, 4000),
  metricsPort: optional('METRICS_PORT', port),
  scopeBase: optional('SCOPE_BASE', scopeBase, 'https://bay-booking.example'),
  bookingsAudience: optional('BOOKINGS_AUDIENCE', httpUrl),
  daySheetUrl: optional('BOOKINGS_DAY_SHEET_URL', httpUrl),
  socialProviders: optional('SOCIAL_PROVIDERS_FILE', socialProviders, new Map() as SocialProviderSettings),
  accessTokenTtl: optional('ACCESS_TOKEN_TTL', seconds, 3600),
  refreshTokenTtl: optional('REFRESH_TOKEN_TTL', seconds, 30 * 24 * 3600),
  trustProxy: optional('TRUST_PROXY', trustProxy, false),
  // 0 means no limit.
  rateLimitPerMinute: optional('RATE_LIMIT_PER_MINUTE', integer(0, 1_000_000), 0),
  smtpUrl: optional('SMTP_URL', url('smtp:', 'smtps:')),
  mail: optional('MAIL', oneOf('on', 'off'), 'on'),
  mailFrom: optional('MAIL_FROM', sender),
  databasePoolMax: optional('DB_POOL_MAX', integer(1, 200), 10),
  // Requests to public addresses are always allowed. Requests to other addresses are allowed only in these networks.
  outboundAllowNetworks: optional('OUTBOUND_ALLOW_NETWORKS', networks, [] as readonly string[]),
  management: optional('MANAGEMENT', flag, false),
  managementPort: optional('MANAGEMENT_PORT', port),
  logLevel: optional('LOG_LEVEL', logLevel, 'info'),
};

/** Which failed sign-ins are slowed down and locked out (guard/sign-in-guard.ts). */
export const lockout = {
  /** Failures of one account or one network address. */
  accountFailures: 10,
  addressFailures: 100,
  /** The time that the failures are counted and the lockout lasts. */
  seconds: 15 * 60,
  /** The delay after the third failure. Each further failure doubles the delay. */
  slowDownMs: 250,
} as const;

export type Lockout = Readonly<Record<keyof typeof lockout, number>>;

export type AuthConfig = ReturnType<typeof readAuthConfig>;

/** @throws {ConfigError} if a variable is not valid. The error lists the errors of all variables. */
export function readAuthConfig(environment: NodeJS.ProcessEnv) {
  const production = environment.NODE_ENV === 'production';
  const read = readConfig(environment, fields, publicServiceErrors(environment));
  const loopback = isLoopback(read.issuer);
  return Object.freeze({
    ...read,
    production,
    lockout: lockout as Lockout,
    /** Whether clients of the implicit flow may have `http://localhost` redirect URIs. */
    isDevelopment: loopback && !production,
    // Default: if the issuer is on this machine, the default local URL of the Bookings API. Otherwise its URL is not
    // known here, so SCOPE_BASE is the audience.
    bookingsAudience: read.bookingsAudience ?? (loopback ? 'http://localhost:4001' : read.scopeBase),
    mailFrom: read.mailFrom ?? `Bay Booking <no-reply@${new URL(read.issuer).hostname}>`,
  });
}

/** For a public service, returns an error for each setting that is allowed only in development. */
function publicServiceErrors(environment: NodeJS.ProcessEnv): readonly string[] {
  if (!isPublicService(environment, environment.ISSUER)) return [];
  const { NODE_ENV, SMTP_URL, MAIL } = environment;
  const isMailDecided = Boolean(SMTP_URL?.trim()) || MAIL?.trim() === 'off';
  // A service is public if NODE_ENV is `production`, or if NODE_ENV is not set and the issuer is public.
  const reason = NODE_ENV ? 'NODE_ENV=production' : 'a public ISSUER';
  return [
    // Only NODE_ENV=production requires an issuer with https.
    ...(NODE_ENV ? unencryptedIssuerErrors(environment, 'ISSUER') : []),
    ...developmentSecretErrors(environment, ['DATABASE_URL', 'COOKIE_KEYS', 'KEY_ENCRYPTION_KEY']),
    ...(isMailDecided ? [] : [`SMTP_URL is missing (${reason} needs a mail server; MAIL=off switches mail off)`]),
  ];
}
