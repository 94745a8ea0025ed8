// Tests the scope rules with generated requests (specification, "Scopes").
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createScopeTable, findScopeError, isOpenidFamily, offlineAccess, openidFamily, splitScope } from './scopes.ts';

const table = createScopeTable('https://bay-booking.example');
const someScopes = fc
  .subarray([...table.all], { minLength: 1 })
  .filter((requested) => requested.some((scope) => scope !== offlineAccess));
const errorOf = (requested: readonly string[], issuesIdToken: boolean, allowed: readonly string[] = table.all) =>
  findScopeError(table, { requested, allowed, issuesIdToken });

describe('rule 2: scopes of the openid family are valid only with an id_token', () => {
  test('without an id_token, the error names all of them', () => {
    fc.assert(
      fc.property(someScopes, (requested) => {
        const family = requested.filter(isOpenidFamily);
        expect(errorOf(requested, false)?.scope).toBe(family.length > 0 ? family.join(' ') : undefined);
      }),
    );
  });

  test('with an id_token, they are valid if and only if openid is one of them', () => {
    fc.assert(
      fc.property(someScopes, (requested) => {
        const valid = requested.includes('openid') || !requested.some(isOpenidFamily);
        expect(errorOf(requested, true) === undefined).toBe(valid);
      }),
    );
  });
});

describe('a client', () => {
  test('gets the scopes that it may request, and an error for every other scope', () => {
    fc.assert(
      fc.property(someScopes, fc.subarray([...table.all]), (requested, allowed) => {
        const granted = ['openid', ...requested];
        const missing = [...new Set(granted)].filter((scope) => !allowed.includes(scope));
        expect(
          errorOf(granted, true, allowed)
            ?.scope.split(' ')
            .every((scope) => missing.includes(scope)) ?? true,
        ).toBe(true);
        expect(errorOf(granted, true, allowed) === undefined).toBe(missing.length === 0);
      }),
    );
  });

  test('must request at least one scope, and only scopes that exist', () => {
    expect(errorOf([], true)).toEqual({ description: 'scope is missing', scope: '' });
    expect(errorOf(['offline_access'], true)?.scope).toBe('offline_access');
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{3,12}$/), (name) => {
        fc.pre(!table.all.includes(name));
        expect(errorOf(['openid', name], true)?.scope).toBe(name);
      }),
    );
  });
});

test('a scope parameter is a set of names, separated by spaces, in their original order', () => {
  expect(splitScope(undefined)).toEqual([]);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...openidFamily)), (names) => {
      expect(splitScope(` ${names.join('  ')} `)).toEqual([...new Set(names)]);
    }),
  );
});
