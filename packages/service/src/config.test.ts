// Tests that the configuration is read from environment variables, and that all its errors are reported together.
import { describe, expect, test } from '@jest/globals';
import {
  baseUrl,
  ConfigError,
  flag,
  httpUrl,
  integer,
  list,
  mandatory,
  networks,
  optional,
  port,
  postgresUrl,
  readConfig,
  scopeBase,
  trustProxy,
} from './config.ts';

const fields = {
  databaseUrl: mandatory('DATABASE_URL', postgresUrl),
  baseUrl: mandatory('BASE_URL', baseUrl),
  port: optional('PORT', port, 4001),
  ttl: optional('TTL', integer(1, 10)),
  origins: optional('ORIGINS', list, []),
};

test('all errors are reported together, each with the name of the variable', () => {
  expect.assertions(2);
  try {
    readConfig({ DATABASE_URL: 'mysql://x', PORT: '70000', TTL: '1.5' }, fields);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).errors).toEqual([
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://',
      'BASE_URL is missing',
      'PORT must be a whole number from 0 to 65535',
      'TTL must be a whole number from 1 to 10',
    ]);
  }
});

test('the configuration contains the parsed values, and the default for an unset or empty variable', () => {
  const env = { DATABASE_URL: 'postgres://h/d', BASE_URL: 'https://b.example/', PORT: ' ', ORIGINS: 'a, b,,' };
  const config = readConfig(env, fields);
  const urls = { databaseUrl: 'postgres://h/d', baseUrl: 'https://b.example' };
  expect(config).toEqual({ ...urls, port: 4001, ttl: undefined, origins: ['a', 'b'] });
  expect(Object.isFrozen(config)).toBe(true);
});

describe('parsers', () => {
  test.each(['https://b.example/?a=b', 'https://b.example/#a', 'https://b.example/?'])('baseUrl rejects %s', (text) => {
    expect(() => baseUrl(text)).toThrow('must contain no query and no fragment');
  });

  test('httpUrl and baseUrl reject a password without repeating it', () => {
    for (const parse of [httpUrl, baseUrl])
      expect(() => parse('https://me:secret@b.example')).toThrow(/^must contain no user and no password$/);
  });

  test('baseUrl accepts a path and removes its last slash, and httpUrl accepts a query', () => {
    expect(baseUrl('https://b.example/path/')).toBe('https://b.example/path');
    expect(httpUrl('https://b.example/keys?a=b')).toBe('https://b.example/keys?a=b');
  });

  test('flag reads on and off, and rejects everything else', () => {
    expect([flag('on'), flag('off')]).toEqual([true, false]);
    expect(() => flag('true')).toThrow('must be one of on, off');
  });

  test.each([
    ['1', 1],
    ['true', 1],
    ['false', false],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['loopback, 2001:db8::/32', 'loopback, 2001:db8::/32'],
  ])('trustProxy accepts %s', (text, value) => {
    expect(trustProxy(text)).toBe(value);
  });

  test.each(['banana', 'True', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.0/', '1,'])('trustProxy rejects %s', (text) => {
    expect(() => trustProxy(text)).toThrow('must be true, false, a number of proxies, or a list of addresses');
  });

  test.each(['10.0.0.0/', '10.0.0.0/33', '10.0.0.0/8/8', 'banana'])('networks rejects %s', (text) => {
    expect(() => networks(text)).toThrow('must be a list of networks in CIDR notation');
  });

  test('scopeBase accepts a URI and removes its last slash', () => {
    expect(scopeBase('https://scopes.example/x/')).toBe('https://scopes.example/x');
  });

  test.each(['a b', 'no-uri', 'https://a.example/"'])('scopeBase rejects %s', (text) => {
    expect(() => scopeBase(text)).toThrow('must be a URI of visible ASCII characters');
  });
});
