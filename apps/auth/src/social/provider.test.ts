// Tests which claims of a social provider are believed.
import { expect, test } from '@jest/globals';
import { identityFrom, ProfileError } from './provider.ts';

test.each(['', 'a\0', '\ud800', 'a\n', 'x'.repeat(301), null, {}])('the user id %j is refused', (sub) => {
  expect(() => identityFrom('google', { sub })).toThrow(ProfileError);
});

test.each(['', 'An\0n', 'An\ud800n', '\u202eAnn', null])('the name %j is dropped', (name) => {
  expect(identityFrom('google', { sub: 7, name, email: name })).toMatchObject({ subject: '7', name: undefined });
});
