// Tests which claims of a social provider are believed.
import { expect, test } from '@jest/globals';
import { identityFrom, ProfileError } from './provider.ts';

test.each(['', 'a\0', '\ud800', 'a\n', 'x'.repeat(301), 2 ** 53, 1.5, null, {}])('the user id %j is refused', (sub) => {
  expect(() => identityFrom('google', { sub })).toThrow(ProfileError);
});

test.each(['', 'An\0n', 'An\ud800n', '\u202eAnn', '\u200b', 'x'.repeat(101), null])(
  'the name and the address %j are dropped',
  (name) => {
    const identity = identityFrom('google', { sub: 7, name, email: name });
    expect(identity).toMatchObject({ subject: '7', name: undefined, email: undefined });
  },
);
