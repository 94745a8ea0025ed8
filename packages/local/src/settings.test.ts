// Tests how `npm start` reads its environment variables, and which variables it passes to each service.
import { describe, expect, test } from '@jest/globals';
import { readDemo, reasonForNoDemo } from './demo.ts';
import { readSettings, serviceEnvironment } from './settings.ts';

const secrets = { cookieKeys: 'cookie', keyEncryptionKey: 'key', webhookKey: 'hook' };
/** Reads the settings of `npm start` without arguments, with the variables `env`. */
const read = (env: Record<string, string>) => readSettings(env, []);
const serviceEnvironments = (env: Record<string, string>) => ({
  auth: serviceEnvironment('auth', env, read(env), secrets),
  bookings: serviceEnvironment('bookings', env, read(env), secrets),
});

describe('addresses', () => {
  test('by default, the issuer, the base URL and the audience are built from the two ports', () => {
    const { auth, bookings } = serviceEnvironments({ AUTH_PORT: '5000', BOOKINGS_PORT: '5001' });
    const [issuer, baseUrl] = ['http://localhost:5000', 'http://localhost:5001'];
    expect(auth).toMatchObject({ PORT: '5000', ISSUER: issuer, BOOKINGS_AUDIENCE: baseUrl });
    expect(bookings).toMatchObject({ PORT: '5001', BASE_URL: baseUrl, AUTH_ISSUER: issuer, AUDIENCE: baseUrl });
  });

  test('the issuer and the audience that are set for one service are passed to the other service', () => {
    const { auth, bookings } = serviceEnvironments({ ISSUER: 'https://id.test', BOOKINGS_AUDIENCE: 'urn:bookings' });
    expect(auth).toMatchObject({ PORT: '4000', ISSUER: 'https://id.test', BOOKINGS_AUDIENCE: 'urn:bookings' });
    expect(bookings).toMatchObject({ AUTH_ISSUER: 'https://id.test', AUDIENCE: 'urn:bookings' });
    expect(serviceEnvironments({ AUDIENCE: 'urn:b' }).auth).toMatchObject({ BOOKINGS_AUDIENCE: 'urn:b' });
  });
});

test('the day sheet of the demo has the base URL of bookings, and is off unless the demo is loaded', () => {
  const { auth, bookings } = serviceEnvironments({ BASE_URL: 'http://localhost:5001/' });
  expect(auth).toMatchObject({ BOOKINGS_DAY_SHEET_URL: 'http://localhost:5001/day' });
  expect(bookings).toMatchObject({ DAY_SHEET_CLIENT_ID: 'demo-day-sheet', BASE_URL: 'http://localhost:5001' });
  const { clients } = readDemo(read({ BOOKINGS_PORT: '5001' }));
  expect(clients).toContainEqual(
    expect.objectContaining({ client_id: 'demo-day-sheet', redirect_uris: ['http://localhost:5001/day/'] }),
  );
  const own = { NODE_ENV: 'production', DAY_SHEET_CLIENT_ID: 'own' };
  expect(serviceEnvironments(own).bookings).toMatchObject({ DAY_SHEET_CLIENT_ID: 'own' });
  expect(serviceEnvironments(own).auth).not.toHaveProperty('BOOKINGS_DAY_SHEET_URL');
});

test('METRICS_PORT may be at most 65534, because bookings uses the next port', () => {
  const { auth, bookings } = serviceEnvironments({ METRICS_PORT: '65534' });
  expect([auth.METRICS_PORT, bookings.METRICS_PORT]).toEqual(['65534', '65535']);
  const error = 'METRICS_PORT must be a port number from 1 to 65534, not "65535"';
  expect(() => read({ METRICS_PORT: '65535' })).toThrow(error);
});

describe('the environment of the services', () => {
  test('a variable without a special meaning is passed to both services', () => {
    const passed = { LOG_LEVEL: 'debug', ACCESS_TOKEN_TTL: '60' };
    expect(serviceEnvironments(passed)).toMatchObject({ auth: passed, bookings: passed });
  });

  test('DATABASE_URL, DATABASE_SERVER_URL and PORT of the shell are not passed to the services', () => {
    const urls = { DATABASE_URL: 'postgres://x', DATABASE_SERVER_URL: 'postgres://u:p@h/d' };
    const { auth, bookings } = serviceEnvironments({ ...urls, PORT: '1' });
    for (const name of Object.keys(urls)) for (const env of [auth, bookings]) expect(env).not.toHaveProperty(name);
    expect([auth.PORT, bookings.PORT]).toEqual(['4000', '4001']);
  });

  test('MAIL is passed to the services, unless it is the path of a mailbox', () => {
    expect(serviceEnvironments({ MAIL: 'off' }).auth).toMatchObject({ MAIL: 'off' });
    expect(serviceEnvironments({ MAIL: '/var/mail/ada' }).auth).not.toHaveProperty('MAIL');
  });

  test('secrets of auth are never passed to bookings, even if the shell sets them', () => {
    const { auth, bookings } = serviceEnvironments({ COOKIE_KEYS: 'own', SMTP_URL: 'smtp://u:p@mail.test' });
    expect(auth).toMatchObject({ COOKIE_KEYS: 'own', KEY_ENCRYPTION_KEY: 'key', SMTP_URL: 'smtp://u:p@mail.test' });
    for (const name of ['COOKIE_KEYS', 'KEY_ENCRYPTION_KEY', 'SMTP_URL']) expect(bookings).not.toHaveProperty(name);
  });
});

describe('invalid settings', () => {
  test('are all reported in one error', () => {
    expect(() => read({ AUTH_PORT: '0', POSTGRES_PORT: '70000', DATABASE_SERVER_URL: 'localhost' })).toThrow(
      'AUTH_PORT must be a port number from 1 to 65535, not "0"\n' +
        'POSTGRES_PORT must be a port number from 1 to 65535, not "70000"\n' +
        'DATABASE_SERVER_URL must look like postgres://user:password@host:port/postgres',
    );
  });

  test('include one port for two services', () => {
    expect(() => read({ AUTH_PORT: '5000', BOOKINGS_PORT: '5000' })).toThrow(
      'two variables have the same port: AUTH_PORT=5000, BOOKINGS_PORT=5000',
    );
  });
});

test('the demo is loaded only if the issuer is a loopback address', () => {
  expect(read({ ISSUER: 'http://127.0.0.1:4000' }).hasDemo).toBe(true);
  const publicSettings = read({ ISSUER: 'https://id.example.com' });
  expect(publicSettings.hasDemo).toBe(false);
  expect(reasonForNoDemo(publicSettings)).toMatch(/^ISSUER is https:\/\/id.example.com/);
});

test('the demo is loaded only if the services listen on loopback, or with DEMO=yes', () => {
  for (const HOST of ['127.0.0.1', 'localhost', '::1']) {
    expect(read({ HOST }).hasDemo).toBe(true);
    expect(read({ HOST, NODE_ENV: 'production' }).hasDemo).toBe(false);
  }
  for (const HOST of ['0.0.0.0', '::', '192.168.1.5']) {
    expect(read({ HOST }).hasDemo).toBe(false);
    expect(reasonForNoDemo(read({ HOST }))).toContain(`HOST is ${HOST}, `);
    expect(read({ HOST, DEMO: 'yes' }).hasDemo).toBe(true);
    expect(read({ HOST, DEMO: 'yes', NODE_ENV: 'production' }).hasDemo).toBe(false);
  }
});

test('DEMO_PORT is 4010 by default, and 0 switches the demo page off', () => {
  expect(read({}).demoPort).toBe(4010);
  expect(read({ DEMO_PORT: '5010' }).demoPort).toBe(5010);
  expect(read({ DEMO_PORT: '0' }).demoPort).toBeUndefined();
  expect(() => read({ DEMO_PORT: 'x' })).toThrow('DEMO_PORT must be a port number from 1 to 65535, not "x"');
});

test('slashes at the end of SCOPE_BASE are removed', () => {
  expect(read({ SCOPE_BASE: 'https://scopes.test/' }).scopeBase).toBe('https://scopes.test');
});
