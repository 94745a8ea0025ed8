// Tests the configuration of the Bookings API (docs/behaviour.md, "Configuration").
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readBookingsConfig } from '../src/config.ts';

const mandatory = {
  DATABASE_URL: 'postgres://user@db/bookings',
  BASE_URL: 'https://bookings.example/',
  AUTH_ISSUER: 'https://auth.example',
};

test('without the optional variables, the configuration has the default values', () => {
  expect(readBookingsConfig(mandatory)).toEqual({
    databaseUrl: 'postgres://user@db/bookings',
    baseUrl: 'https://bookings.example',
    authIssuer: 'https://auth.example',
    host: undefined,
    port: 4001,
    metricsPort: undefined,
    authJwksUri: undefined,
    authRevocationsUri: 'https://auth.example/.well-known/revocations',
    revocationPollSeconds: 5,
    audience: 'https://bookings.example',
    scopeBase: 'https://bay-booking.example',
    stepUp: 'off',
    trustProxy: false,
    logLevel: 'info',
    rateLimitPerMinute: 0,
    maxBookingHours: 0,
    maxDaysAhead: 0,
    holdsPerOwner: 50,
    databasePoolMax: 10,
    management: false,
    changeRetentionDays: 30,
    historyRetentionDays: 400,
    personalDataDays: 0,
    webhookKeys: undefined,
    webhookAllowNetworks: [],
  });
});

test.each([
  ['PORT', '8080', 'port', 8080],
  ['METRICS_PORT', '9090', 'metricsPort', 9090],
  ['AUTH_JWKS_URI', 'http://auth:4000/connect/jwks', 'authJwksUri', 'http://auth:4000/connect/jwks'],
  ['REVOCATION_POLL_SECONDS', '2', 'revocationPollSeconds', 2],
  ['AUDIENCE', 'bookings', 'audience', 'bookings'],
  ['SCOPE_BASE', 'https://scopes.example/', 'scopeBase', 'https://scopes.example'],
  ['TRUST_PROXY', '1', 'trustProxy', 1],
  ['LOG_LEVEL', 'warn', 'logLevel', 'warn'],
  ['RATE_LIMIT_PER_MINUTE', '600', 'rateLimitPerMinute', 600],
  ['DB_POOL_MAX', '4', 'databasePoolMax', 4],
])('%s=%s replaces the default', (name, value, field, parsed) => {
  expect(readBookingsConfig({ ...mandatory, [name]: value })).toMatchObject({ [field]: parsed });
});

test('the list of revocations is below the internal address of the keys, or else below the issuer', () => {
  const uriOf = (environment: Record<string, string>) =>
    readBookingsConfig({ ...mandatory, ...environment }).authRevocationsUri;
  const jwks = { AUTH_JWKS_URI: 'http://auth:4000/base/connect/jwks' };
  expect(uriOf(jwks)).toBe('http://auth:4000/base/.well-known/revocations');
  expect(uriOf({ AUTH_JWKS_URI: 'http://keys/jwks' })).toBe('https://auth.example/.well-known/revocations');
});

test('all invalid variables are reported together, by name', () => {
  const invalid = {
    DATABASE_URL: 'mysql://x',
    BASE_URL: '',
    AUTH_ISSUER: 'auth.example',
    PORT: '70000',
    SCOPE_BASE: 'no uri',
    TRUST_PROXY: 'everyone',
    LOG_LEVEL: 'loud',
    RATE_LIMIT_PER_MINUTE: '-1',
    HISTORY_RETENTION_DAYS: '6',
    PERSONAL_DATA_DAYS: '-1',
  };
  const errors = Object.keys(invalid).map((name) => expect.stringMatching(new RegExp(`^${name} `)));
  expect(() => readBookingsConfig(invalid)).toThrow(expect.objectContaining({ name: 'ConfigError', errors }));
});

test.each(['../README.md', '../.env.example'])('%s names every variable', (file) => {
  const readText = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const calls = readText('../src/config.ts').matchAll(/(?:mandatory|optional)\(\s*'([A-Z_]+)'/g);
  const variables = [...calls].map(([, name]) => name);
  // The pattern above must still match the calls in config.ts, which read more than 10 variables.
  expect(variables.length).toBeGreaterThan(10);
  const text = readText(file);
  expect(variables.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
});

test('in production, DEVELOPMENT-ONLY secrets and an http AUTH_ISSUER on another machine are rejected', () => {
  const unsafe = {
    ...mandatory,
    DATABASE_URL: 'postgres://bookings_service:DEVELOPMENT-ONLY-bookings-service@postgres/bookings',
    WEBHOOK_KEY: Buffer.from('DEVELOPMENT-ONLY-key-0123456789a').toString('base64'),
    AUTH_ISSUER: 'http://auth.example',
  };
  const read = (environment: Record<string, string>) => () => readBookingsConfig(environment);
  expect(read({ ...unsafe, NODE_ENV: 'production' })).toThrow(/AUTH_ISSUER must.*DATABASE_URL is.*WEBHOOK_KEY is/s);
  expect(read({ ...unsafe, NODE_ENV: 'development' })).not.toThrow();
  expect(read({ ...mandatory, NODE_ENV: 'production', AUTH_ISSUER: 'http://localhost:4000' })).not.toThrow();
});
