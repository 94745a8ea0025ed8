// Tests which paths are accepted as the target of a redirect after signing in.
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
  '/./\\/evil.example',
  '@evil.example',
  // A browser resolves the next two paths to //evil.example.
  '/a/..//evil.example',
  '/x\\..\\..//evil.example',
  'javascript:alert(1)',
  // A path has at most 2000 characters.
  `/${'a'.repeat(3000)}`,
])('a value that is not the path of a page of this server is replaced by the fallback path: %s', (path) => {
  expect(localPath(path, '/account')).toBe('/account');
});
