// Reads the variables of `npm start` and builds the environment of each service.
import { join, resolve } from 'node:path';
import { isLoopback, isLoopbackHost } from '@bay-booking/service/public-address';
import type { Secrets } from './data-folder.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type Settings = ReturnType<typeof readSettings>;
export type AppName = 'auth' | 'bookings';

/** @throws {Error} with a message that names every invalid variable */
export function readSettings(env: Environment, args: readonly string[]) {
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
  // Two services on one machine cannot share a port. METRICS_PORT is the port of auth; bookings uses the next port.
  const metricsPort = readPort('METRICS_PORT', 65_534);
  const host = env.HOST || '127.0.0.1';
  const issuer = env.ISSUER || `http://localhost:${authPort}`;
  const settings = {
    root,
    dataDir: resolve(root, env.DATA_DIR || '.data'),
    authPort,
    bookingsPort,
    /** Undefined: any free port. */
    postgresPort: readPort('POSTGRES_PORT'),
    /** Undefined: each service serves its metrics on its main port. */
    metricsPorts: metricsPort ? { auth: metricsPort, bookings: metricsPort + 1 } : undefined,
    /** Undefined: the embedded PostgreSQL. */
    databaseServerUrl: env.DATABASE_SERVER_URL || undefined,
    /** Undefined: the demo uses stand-ins for the social providers. */
    socialProvidersFile: env.SOCIAL_PROVIDERS_FILE ? resolve(root, env.SOCIAL_PROVIDERS_FILE) : undefined,
    scopeBase: (env.SCOPE_BASE || 'https://bay-booking.example').replace(/\/+$/, ''),
    host,
    issuer,
    baseUrl: (env.BASE_URL || `http://localhost:${bookingsPort}`).replace(/\/+$/, ''),
    /** The demo's passwords are published, so the demo is loaded only if no other machine can reach the services. */
    hasDemo: env.NODE_ENV !== 'production' && isLoopback(issuer) && (isLoopbackHost(host) || env.DEMO === 'yes'),
    /** Undefined: the demo page is off. */
    demoPort: env.DEMO_PORT === '0' ? undefined : (readPort('DEMO_PORT') ?? 4010),
    watch: args.includes('--watch'),
  };
  if (settings.databaseServerUrl && !/^postgres(ql)?:\/\/[^/]/.test(settings.databaseServerUrl)) {
    errors.push('DATABASE_SERVER_URL must look like postgres://user:password@host:port/postgres');
  }
  const ports = [
    { name: 'AUTH_PORT', port: authPort },
    { name: 'BOOKINGS_PORT', port: bookingsPort },
    { name: 'POSTGRES_PORT', port: settings.databaseServerUrl ? undefined : settings.postgresPort },
    { name: 'METRICS_PORT', port: settings.metricsPorts?.auth },
    { name: 'METRICS_PORT + 1', port: settings.metricsPorts?.bookings },
  ].filter((entry): entry is { name: string; port: number } => entry.port !== undefined);
  if (new Set(ports.map(({ port }) => port)).size < ports.length) {
    const assignments = ports.map(({ name, port }) => `${name}=${port}`);
    errors.push(`two variables have the same port: ${assignments.join(', ')}`);
  }
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return { ...settings, ports };
}

/** Social providers and webhooks can be on this machine. Other private IP addresses are not allowed. */
const loopbackNetworks = '127.0.0.0/8,::1/128';

/** The launcher does not pass these variables on: one service needs them, or no service does. */
const notShared = ['DATABASE_URL', 'DATABASE_SERVER_URL', 'PORT', 'METRICS_PORT', 'WEBHOOK_KEY'];
const onlyForAuth = ['COOKIE_KEYS', 'KEY_ENCRYPTION_KEY', 'SMTP_URL'];

/** Returns a service's environment variables except DATABASE_URL. */
export function serviceEnvironment(
  app: AppName,
  env: Environment,
  settings: Settings,
  secrets: Omit<Secrets, 'passwords'>,
): Environment {
  const { issuer, baseUrl, host, scopeBase, socialProvidersFile } = settings;
  const metricsPort = settings.metricsPorts?.[app];
  const daySheet = settings.hasDemo && {
    DAY_SHEET_CLIENT_ID: 'demo-day-sheet',
    BOOKINGS_DAY_SHEET_URL: `${baseUrl}/day`,
  };
  // BOOKINGS_AUDIENCE of auth and AUDIENCE of bookings must be equal, so setting one of them is enough.
  const audience = env.BOOKINGS_AUDIENCE || env.AUDIENCE || baseUrl;
  const shared = {
    NODE_COMPILE_CACHE: join(settings.root, 'node_modules/.cache/compile'),
    ...daySheet,
    // Many systems set MAIL to the path of the user's mailbox.
    ...without(env, env.MAIL?.startsWith('/') ? [...notShared, 'MAIL'] : notShared),
    HOST: host,
    SCOPE_BASE: scopeBase,
    ...(metricsPort && { METRICS_PORT: String(metricsPort) }),
  };
  if (app === 'auth') {
    return {
      ...shared,
      PORT: String(settings.authPort),
      ISSUER: issuer,
      BOOKINGS_AUDIENCE: audience,
      COOKIE_KEYS: env.COOKIE_KEYS || secrets.cookieKeys,
      KEY_ENCRYPTION_KEY: env.KEY_ENCRYPTION_KEY || secrets.keyEncryptionKey,
      OUTBOUND_ALLOW_NETWORKS: env.OUTBOUND_ALLOW_NETWORKS || loopbackNetworks,
      ...(socialProvidersFile && { SOCIAL_PROVIDERS_FILE: socialProvidersFile }),
    };
  }
  return {
    ...without(shared, onlyForAuth),
    PORT: String(settings.bookingsPort),
    BASE_URL: baseUrl,
    AUTH_ISSUER: env.AUTH_ISSUER || issuer,
    AUDIENCE: env.AUDIENCE || audience,
    WEBHOOK_KEY: env.WEBHOOK_KEY || secrets.webhookKey,
    WEBHOOK_ALLOW_NETWORKS: env.WEBHOOK_ALLOW_NETWORKS || loopbackNetworks,
  };
}

const without = (env: Environment, names: readonly string[]): Environment =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
