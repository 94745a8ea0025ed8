// Tests how auth reads its configuration from environment variables.
import { readFileSync } from 'node:fs';
import { ConfigError } from '@bay-booking/service/config';
import { describe, expect, test } from '@jest/globals';
import { readAuthConfig } from '../src/config.ts';

const key = Buffer.alloc(32, 1).toString('base64');
const mandatory = {
  DATABASE_URL: 'postgres://auth@localhost/auth',
  ISSUER: 'http://localhost:4000',
  COOKIE_KEYS: 'a-cookie-key-of-32-characters-or-more',
  KEY_ENCRYPTION_KEY: key,
};
/** Returns one message for each wrong variable. Each message begins with the name of the variable. */
const errorsOf = (environment: Record<string, string | undefined>): readonly string[] => {
  try {
    readAuthConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
  return [];
};

describe('the configuration', () => {
  test('four variables are mandatory, and all others have defaults', () => {
    expect(readAuthConfig(mandatory)).toMatchObject({
      port: 4000,
      scopeBase: 'https://bay-booking.example',
      bookingsAudience: 'http://localhost:4001',
      accessTokenTtl: 3600,
      refreshTokenTtl: 2_592_000,
      rateLimitPerMinute: 0,
      isDevelopment: true,
    });
  });

  test('one error lists all wrong variables and contains no secret', () => {
    const errors = errorsOf({
      ISSUER: 'ftp://id',
      COOKIE_KEYS: 'too-short-and-secret',
      KEY_ENCRYPTION_KEY: 'short-and-secret',
      PORT: '70000',
      ACCESS_TOKEN_TTL: 'soon',
      NODE_ENV: 'production',
    });
    const variables = errors.map((error) => error.split(' ')[0]);
    // DATABASE_URL is missing, and so is SMTP_URL, which is mandatory with NODE_ENV=production.
    expect(variables.sort()).toEqual([
      'ACCESS_TOKEN_TTL',
      'COOKIE_KEYS',
      'DATABASE_URL',
      'ISSUER',
      'KEY_ENCRYPTION_KEY',
      'PORT',
      'SMTP_URL',
    ]);
    expect(errors.join()).not.toContain('secret');
  });

  test.each<[string, Record<string, string>, string]>([
    ['one of several COOKIE_KEYS that is too short', { COOKIE_KEYS: `${mandatory.COOKIE_KEYS},short` }, 'COOKIE_KEYS'],
    [
      'an encryption key of 31 bytes',
      { KEY_ENCRYPTION_KEY: Buffer.alloc(31).toString('base64') },
      'KEY_ENCRYPTION_KEY',
    ],
    ['an encryption key that is not base64', { KEY_ENCRYPTION_KEY: '!'.repeat(44) }, 'KEY_ENCRYPTION_KEY'],
    ['an issuer with a path', { ISSUER: 'https://id.example.com/auth', MAIL: 'off' }, 'ISSUER'],
    ['an issuer with a query', { ISSUER: 'https://id.example.com/?x', MAIL: 'off' }, 'ISSUER'],
    ['a scope base with a space', { SCOPE_BASE: 'https://a b' }, 'SCOPE_BASE'],
    ['a sender without an address', { MAIL_FROM: 'Bay Booking' }, 'MAIL_FROM'],
    ['a negative limit', { RATE_LIMIT_PER_MINUTE: '-1' }, 'RATE_LIMIT_PER_MINUTE'],
  ])('the configuration with %s is rejected', (_title, environment, variable) => {
    expect(errorsOf({ ...mandatory, ...environment })).toEqual([expect.stringMatching(new RegExp(`^${variable} `))]);
  });

  const production = { ...mandatory, ISSUER: 'https://id.example.com', NODE_ENV: 'production' };

  test('with NODE_ENV=production, SMTP_URL is mandatory unless MAIL=off', () => {
    expect(errorsOf(production)).toEqual([expect.stringMatching(/^SMTP_URL /)]);
    expect(errorsOf({ ...production, MAIL: 'off' })).toEqual([]);
    expect(errorsOf({ ...production, SMTP_URL: 'smtp://mail.example.com' })).toEqual([]);
  });

  test('with NODE_ENV=production, the DEVELOPMENT-ONLY secrets of docker-compose.yml are rejected', () => {
    const secrets = {
      DATABASE_URL: 'postgres://auth_service:DEVELOPMENT-ONLY-auth-service@postgres:5432/auth',
      COOKIE_KEYS: `${'n'.repeat(32)},DEVELOPMENT-ONLY-cookie-key-0123456789abcdef`,
      KEY_ENCRYPTION_KEY: Buffer.from('DEVELOPMENT-ONLY-key-0123456789a').toString('base64'),
    };
    const errors = errorsOf({ ...production, ...secrets, MAIL: 'off' });
    expect(errors.map((error) => error.split(' ')[0])).toEqual(Object.keys(secrets));
    expect(errorsOf({ ...mandatory, ...secrets })).toEqual([]);
  });

  test('with NODE_ENV=production, an http issuer is rejected unless it is a loopback address', () => {
    const errors = errorsOf({ ...production, ISSUER: 'http://id.example.com', MAIL: 'off' });
    expect(errors).toEqual([expect.stringMatching(/^ISSUER must start with https/)]);
    for (const ISSUER of ['http://localhost:4000', 'http://127.0.0.1:4000', 'http://[::1]:4000'])
      expect(errorsOf({ ...production, ISSUER, MAIL: 'off' })).toEqual([]);
  });

  test('without NODE_ENV, a public issuer requires a mail server and rejects DEVELOPMENT-ONLY secrets', () => {
    const publicIssuer = { ...mandatory, ISSUER: 'https://id.example.com' };
    expect(errorsOf(publicIssuer)).toEqual([expect.stringMatching(/^SMTP_URL is missing \(a public ISSUER/)]);
    expect(errorsOf({ ...publicIssuer, MAIL: 'off' })).toEqual([]);
    expect(errorsOf({ ...publicIssuer, NODE_ENV: 'development' })).toEqual([]);
    const COOKIE_KEYS = 'DEVELOPMENT-ONLY-cookie-key-0123456789abcdef';
    expect(errorsOf({ ...publicIssuer, MAIL: 'off', COOKIE_KEYS })).toEqual([expect.stringMatching(/^COOKIE_KEYS /)]);
  });

  test('an issuer may have a trailing slash, and COOKIE_KEYS may contain several keys', () => {
    const { issuer, cookieKeys, isDevelopment, bookingsAudience } = readAuthConfig({
      ...mandatory,
      ISSUER: 'https://id.example.com/',
      MAIL: 'off',
      COOKIE_KEYS: `${'n'.repeat(32)}, ${'o'.repeat(40)}`,
    });
    expect(issuer).toBe('https://id.example.com');
    expect(cookieKeys).toEqual(['n'.repeat(32), 'o'.repeat(40)]);
    expect(isDevelopment).toBe(false);
    expect(bookingsAudience).toBe('https://bay-booking.example');
  });
});

test('README.md and .env.example of auth contain every variable', () => {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
  // config.ts reads each variable with mandatory('NAME', …) or optional('NAME', …).
  const variables = [...read('../src/config.ts').matchAll(/(?:mandatory|optional)\(\s*'([A-Z_]+)'/g)].map(
    ([, name]) => name,
  );
  // The pattern above must still match the calls in config.ts, which read more than 20 variables.
  expect(variables.length).toBeGreaterThan(20);
  for (const file of ['../README.md', '../.env.example']) {
    const text = read(file);
    expect(variables.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  }
});
