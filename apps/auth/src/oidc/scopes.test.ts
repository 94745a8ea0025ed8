import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createScopeTable, findScopeError, isOpenidFamily, offlineAccess, openidFamily, splitScope } from './scopes.ts';

const table = createScopeTable('https://bay-booking.example');
const someScopes = fc
  .subarray([...table.all], { minLength: 1 })
  .filter((requested) => requested.some((scope) => scope !== offlineAccess));
const fault = (requested: readonly string[], issuesIdToken: boolean, allowed: readonly string[] = table.all) =>
  findScopeError(table, { requested, allowed, issuesIdToken });

describe('rule 2: openid-family scopes are valid only when an id_token is requested along with the access token', () => {
  test('any of them without an id_token is a fault that names them all', () => {
    fc.assert(
      fc.property(someScopes, (requested) => {
        const family = requested.filter(isOpenidFamily);
        expect(fault(requested, false)?.scope).toBe(family.length > 0 ? family.join(' ') : undefined);
      }),
    );
  });

  test('with an id_token they are valid exactly when openid is among them', () => {
    fc.assert(
      fc.property(someScopes, (requested) => {
        const valid = requested.includes('openid') || !requested.some(isOpenidFamily);
        expect(fault(requested, true) === undefined).toBe(valid);
      }),
    );
  });
});

describe('a client', () => {
  test('may have what it is allowed and no more', () => {
    fc.assert(
      fc.property(someScopes, fc.subarray([...table.all]), (requested, allowed) => {
        const granted = ['openid', ...requested];
        const missing = [...new Set(granted)].filter((scope) => !allowed.includes(scope));
        expect(
          fault(granted, true, allowed)
            ?.scope.split(' ')
            .every((scope) => missing.includes(scope)) ?? true,
        ).toBe(true);
        expect(fault(granted, true, allowed) === undefined).toBe(missing.length === 0);
      }),
    );
  });

  test('asks for something, and for nothing that does not exist', () => {
    expect(fault([], true)).toEqual({ description: 'scope is missing', scope: '' });
    expect(fault(['offline_access'], true)?.scope).toBe('offline_access');
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{3,12}$/), (name) => {
        fc.pre(!table.all.includes(name));
        expect(fault(['openid', name], true)?.scope).toBe(name);
      }),
    );
  });
});

test('a scope parameter is a set of names between spaces, in the order asked', () => {
  expect(splitScope(undefined)).toEqual([]);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...openidFamily)), (names) => {
      expect(splitScope(` ${names.join('  ')} `)).toEqual([...new Set(names)]);
    }),
  );
});
