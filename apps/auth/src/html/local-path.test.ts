// Tests which paths are accepted as targets of a redirect after sign-in.
import { expect, test } from '@jest/globals';
import { localPath } from './local-path.ts';

test.each(['/portal', '/account/sessions', '/portal?facility=fac-north'])(
  'a path of this server is accepted: %s',
  (path) => {
    expect(localPath(path, '/account')).toBe(path);
  },
);

test.each([
  undefined,
  '',
  'portal',
  'https://evil.example/',
  '//evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  '/a/..//evil.example',
  '/x\\..\\..//evil.example',
  'javascript:alert(1)',
  `/${'a'.repeat(3000)}`,
])('an address that could lead to another server is replaced by the fallback path: %s', (path) => {
  expect(localPath(path, '/account')).toBe('/account');
});
