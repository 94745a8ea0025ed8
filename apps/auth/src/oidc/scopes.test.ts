// Tests the scope rules with generated requests (specification, "Scopes").
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createScopeTable, findScopeError, isOpenidFamily, offlineAccess, openidFamily, splitScope } from './scopes.ts';

const table = createScopeTable('https://bay-booking.example');
/** Generates subsets of all scopes, except the subset that contains only offline_access. */
const someScopes = fc
  .subarray([...table.all], { minLength: 1 })
  .filter((requested) => requested.some((scope) => scope !== offlineAccess));
const errorOf = (requested: readonly string[], issuesIdToken: boolean, allowed: readonly string[] = table.all) =>
  findScopeError(table, { requested, allowed, issuesIdToken });

describe('scopes of the openid family (rule 2 of the specification)', () => {
  test('without an id_token, a request may contain no scope of the openid family, and the error names them', () => {
    fc.assert(
      fc.property(someScopes, (requested) => {
        const family = requested.filter(isOpenidFamily);
        expect(errorOf(requested, false)?.scope).toBe(family.length > 0 ? family.join(' ') : undefined);
      }),
    );
  });

  test('with an id_token, a request may contain scopes of the openid family only if it contains openid', () => {
    fc.assert(
      fc.property(someScopes, (requested) => {
        const valid = requested.includes('openid') || !requested.some(isOpenidFamily);
        expect(errorOf(requested, true) === undefined).toBe(valid);
      }),
    );
  });
});

describe('scopes of a client', () => {
  test('a request is valid if and only if the client may request its scopes, and the error names only others', () => {
    fc.assert(
      fc.property(someScopes, fc.subarray([...table.all]), (requested, allowed) => {
        const withOpenid = ['openid', ...requested];
        const missing = withOpenid.filter((scope) => !allowed.includes(scope));
        const error = errorOf(withOpenid, true, allowed);
        expect(error?.scope.split(' ').every((scope) => missing.includes(scope)) ?? true).toBe(true);
        expect(error === undefined).toBe(missing.length === 0);
      }),
    );
  });

  test('a request needs a scope other than offline_access, and every scope must exist', () => {
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

test('splitScope returns the names in a scope parameter in their order, without repetitions', () => {
  expect(splitScope(undefined)).toEqual([]);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...openidFamily)), (names) => {
      expect(splitScope(` ${names.join('  ')} `)).toEqual([...new Set(names)]);
    }),
  );
});
