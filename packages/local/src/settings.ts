// Reads the variables of `npm start`, and builds the environment of each service from them.
import { join, resolve } from 'node:path';
import { isLoopback } from '@bay-booking/service/public-address';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Settings {
  root: string;
  dataDir: string;
  authPort: number;
  bookingsPort: number;
  /** The port of the embedded PostgreSQL. If it is undefined, PostgreSQL gets any free port. */
  postgresPort: number | undefined;
  /** The ports for the metrics. If undefined, each service serves its metrics on its main port. */
  metricsPorts: { auth: number; bookings: number } | undefined;
  /** A PostgreSQL server to use. If it is undefined, `npm start` starts the embedded PostgreSQL. */
  databaseServerUrl: string | undefined;
  /** If it is undefined, stand-ins replace the social providers in the demo. */
  socialProvidersFile: string | undefined;
  scopeBase: string;
  /** The address that the services listen on. Default: the loopback address. */
  host: string;
  /** The public address of auth. */
  issuer: string;
  /** The public address of bookings. */
  baseUrl: string;
  /** Whether the demo is loaded. Its passwords are public, so it is loaded only if the issuer is on this machine. */
  hasDemo: boolean;
  /** Whether the services restart when a source file changes. */
  watch: boolean;
}

/** @throws {Error} with a message that names every invalid variable */
export function readSettings(env: Environment, args: readonly string[]): Settings {
  const root = resolve(import.meta.dirname, '../../..');
  const errors: string[] = [];
  const readPort = (name: string, maximum = 65_535): number | undefined => {
    const text = env[name];
    if (!text) return undefined;
    if (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= maximum) return Number(text);
    errors.push(`${name} must be a port number from 1 to ${maximum}, not "${text}"`);
    return undefined;
  };
  const authPort = readPort('AUTH_PORT') ?? 4000;
  const bookingsPort = readPort('BOOKINGS_PORT') ?? 4001;
  // Two services on one machine cannot share a port. METRICS_PORT is the port of auth, and bookings uses the next port.
  const metricsPort = readPort('METRICS_PORT', 65_534);
  const issuer = env.ISSUER || `http://localhost:${authPort}`;
  const settings = {
    root,
    dataDir: resolve(root, env.DATA_DIR || '.data'),
    authPort,
    bookingsPort,
    postgresPort: readPort('POSTGRES_PORT'),
    metricsPorts: metricsPort ? { auth: metricsPort, bookings: metricsPort + 1 } : undefined,
    databaseServerUrl: env.DATABASE_SERVER_URL || undefined,
    socialProvidersFile: env.SOCIAL_PROVIDERS_FILE ? resolve(root, env.SOCIAL_PROVIDERS_FILE) : undefined,
    scopeBase: (env.SCOPE_BASE || 'https://bay-booking.example').replace(/\/+$/, ''),
    host: env.HOST || '127.0.0.1',
    issuer,
    baseUrl: env.BASE_URL || `http://localhost:${bookingsPort}`,
    hasDemo: env.NODE_ENV !== 'production' && isLoopback(issuer),
    watch: args.includes('--watch'),
  };
  if (settings.databaseServerUrl && !/^postgres(ql)?:\/\/[^/]/.test(settings.databaseServerUrl)) {
    errors.push('DATABASE_SERVER_URL must look like postgres://user:password@host:port/postgres');
  }
  const ports = namedPorts(settings);
  if (new Set(ports.map(({ port }) => port)).size < ports.length) {
    const assignments = ports.map(({ name, port }) => `${name}=${port}`);
    errors.push(`two variables have the same port: ${assignments.join(', ')}`);
  }
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return settings;
}

/** Lists every port that must be free, with the name of the variable that sets this port. */
export function namedPorts({ authPort, bookingsPort, postgresPort, metricsPorts, databaseServerUrl }: Settings) {
  return [
    { name: 'AUTH_PORT', port: authPort },
    { name: 'BOOKINGS_PORT', port: bookingsPort },
    ...(postgresPort && !databaseServerUrl ? [{ name: 'POSTGRES_PORT', port: postgresPort }] : []),
    ...(metricsPorts
      ? [
          { name: 'METRICS_PORT', port: metricsPorts.auth },
          { name: 'METRICS_PORT + 1', port: metricsPorts.bookings },
        ]
      : []),
  ];
}

export interface ServiceSecrets {
  cookieKeys: string;
  keyEncryptionKey: string;
  webhookKey: string;
}

export type AppName = 'auth' | 'bookings';

/** Social providers and receivers of webhooks can be on this machine. Other private addresses are not allowed. */
const loopbackNetworks = '127.0.0.0/8,::1/128';

/**
 * Returns the environment variables of a service, without the address of the database. The variables of `npm start` are
 * passed on, with two exceptions. Variables whose value differs between the services, such as PORT, get their value
 * here. Secrets of one service are not passed to the other service.
 */
export function serviceEnvironment(
  app: AppName,
  env: Environment,
  settings: Settings,
  secrets: ServiceSecrets,
): Environment {
  const { DATABASE_URL: _1, DATABASE_SERVER_URL: _2, PORT: _3, WEBHOOK_KEY: webhookKey, ...otherVariables } = env;
  // Auth reads BOOKINGS_AUDIENCE, and bookings reads AUDIENCE. Both must have the same value, so one of them is enough.
  const audience = env.BOOKINGS_AUDIENCE || env.AUDIENCE || settings.baseUrl;
  const shared: Environment = {
    NODE_COMPILE_CACHE: join(settings.root, 'node_modules/.cache/compile'),
    ...otherVariables,
    HOST: settings.host,
    SCOPE_BASE: settings.scopeBase,
  };
  if (app === 'auth') {
    return {
      ...shared,
      PORT: String(settings.authPort),
      ISSUER: settings.issuer,
      BOOKINGS_AUDIENCE: audience,
      COOKIE_KEYS: env.COOKIE_KEYS || secrets.cookieKeys,
      KEY_ENCRYPTION_KEY: env.KEY_ENCRYPTION_KEY || secrets.keyEncryptionKey,
      OUTBOUND_ALLOW_NETWORKS: env.OUTBOUND_ALLOW_NETWORKS || loopbackNetworks,
      ...(settings.socialProvidersFile ? { SOCIAL_PROVIDERS_FILE: settings.socialProvidersFile } : {}),
      ...(settings.metricsPorts ? { METRICS_PORT: String(settings.metricsPorts.auth) } : {}),
    };
  }
  const { COOKIE_KEYS: _4, KEY_ENCRYPTION_KEY: _5, SMTP_URL: _6, ...forBookings } = shared;
  return {
    ...forBookings,
    PORT: String(settings.bookingsPort),
    BASE_URL: settings.baseUrl,
    AUTH_ISSUER: env.AUTH_ISSUER || settings.issuer,
    AUDIENCE: env.AUDIENCE || audience,
    WEBHOOK_KEY: webhookKey || secrets.webhookKey,
    WEBHOOK_ALLOW_NETWORKS: env.WEBHOOK_ALLOW_NETWORKS || loopbackNetworks,
    ...(settings.metricsPorts ? { METRICS_PORT: String(settings.metricsPorts.bookings) } : {}),
  };
}

export const appFolder = (settings: Settings, app: AppName) => join(settings.root, 'apps', app);
