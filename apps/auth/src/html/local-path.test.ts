import { expect, test } from '@jest/globals';
import { localPath } from './local-path.ts';

test.each(['/portal', '/account/sessions', '/portal?facility=fac-north'])(
  'a page of ours is returned to: %s',
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
])('nothing else is, open redirects least of all: %s', (path) => {
  expect(localPath(path, '/account')).toBe('/account');
});
