// Reads the configuration of the Bookings API (README.md, .env.example).
import {
  baseUrl,
  type ConfigOf,
  encryptionKeys,
  flag,
  httpUrl,
  integer,
  logLevel,
  mandatory,
  networks,
  oneOf,
  optional,
  port,
  postgresUrl,
  readConfig,
  scopeBase,
  text,
  trustProxy,
} from '@bay-booking/service/config';
import { developmentSecretErrors, isPublicService, unencryptedIssuerErrors } from '@bay-booking/service/public-address';

export const bookingsMigrations = `${import.meta.dirname}/../migrations`;

/** For the limits, 0 means no limit. HOLDS_PER_OWNER=0 switches holds off, an unset WEBHOOK_KEY webhooks. */
const fields = {
  databaseUrl: mandatory('DATABASE_URL', postgresUrl),
  baseUrl: mandatory('BASE_URL', baseUrl),
  authIssuer: mandatory('AUTH_ISSUER', baseUrl),
  host: optional('HOST', text),
  port: optional('PORT', port, 4001),
  metricsPort: optional('METRICS_PORT', port),
  authJwksUri: optional('AUTH_JWKS_URI', httpUrl),
  revocationPollSeconds: optional('REVOCATION_POLL_SECONDS', integer(1, 60), 5),
  audience: optional('AUDIENCE', text),
  scopeBase: optional('SCOPE_BASE', scopeBase, 'https://bay-booking.example'),
  trustProxy: optional('TRUST_PROXY', trustProxy, false),
  logLevel: optional('LOG_LEVEL', logLevel, 'info'),
  rateLimitPerMinute: optional('RATE_LIMIT_PER_MINUTE', integer(0, 1_000_000), 0),
  maxBookingHours: optional('MAX_BOOKING_HOURS', integer(0, 1_000_000), 0),
  maxDaysAhead: optional('MAX_DAYS_AHEAD', integer(0, 1_000_000), 0),
  stepUp: optional('STEP_UP', oneOf('off', 'schedule'), 'off'),
  holdsPerOwner: optional('HOLDS_PER_OWNER', integer(0, 10_000), 50),
  databasePoolMax: optional('DB_POOL_MAX', integer(1, 200), 10),
  management: optional('MANAGEMENT', flag, false),
  managementPort: optional('MANAGEMENT_PORT', port),
  changeRetentionDays: optional('CHANGE_RETENTION_DAYS', integer(7, 3_650), 30),
  historyRetentionDays: optional('HISTORY_RETENTION_DAYS', integer(7, 36_500), 400),
  personalDataDays: optional('PERSONAL_DATA_DAYS', integer(0, 36_500), 0),
  daySheetClientId: optional('DAY_SHEET_CLIENT_ID', text),
  webhookKeys: optional<readonly Buffer[]>('WEBHOOK_KEY', encryptionKeys),
  webhookAllowNetworks: optional('WEBHOOK_ALLOW_NETWORKS', networks, []),
} as const;

/** If AUDIENCE is unset, the audience is the base URL. */
export type Config = Omit<ConfigOf<typeof fields>, 'audience'> & {
  readonly audience: string;
  readonly authRevocationsUri: string;
};

export function readBookingsConfig(environment: NodeJS.ProcessEnv): Config {
  const config = readConfig(environment, fields, publicServiceErrors(environment));
  return Object.freeze({
    ...config,
    audience: config.audience ?? config.baseUrl,
    authRevocationsUri: revocationsUri(config),
  });
}

/** If the signing keys have an internal URL, the list of revocations has the same base. */
function revocationsUri({ authIssuer, authJwksUri }: Pick<Config, 'authIssuer' | 'authJwksUri'>): string {
  const internal = /^(.*)\/connect\/jwks$/.exec(authJwksUri ?? '')?.[1];
  return `${internal ?? authIssuer}/.well-known/revocations`;
}

const publicServiceErrors = (environment: NodeJS.ProcessEnv): readonly string[] =>
  isPublicService(environment, environment.AUTH_ISSUER)
    ? [
        // Only NODE_ENV=production requires an issuer with https.
        ...(environment.NODE_ENV ? unencryptedIssuerErrors(environment, 'AUTH_ISSUER') : []),
        ...developmentSecretErrors(environment, ['DATABASE_URL', 'WEBHOOK_KEY']),
      ]
    : [];
