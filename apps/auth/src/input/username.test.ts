// Tests that all spellings of a user name have one form.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isEmailAddress } from './field-rules.ts';
import { canonicalName, lookalikeIn, readName } from './username.ts';

test.each([
  ['anna@ZÜRICH.example', 'anna@xn--zrich-kva.example'],
  ['ΟΔΟΣ@a.example', 'οδοσ@a.example'],
  ['Weiß', 'weiss'],
  ['ẞ@straße.example', 'ss@xn--strae-oqa.example'],
  ['\u212a', 'k'],
  ['Ａ', 'ａ'],
  ['İ', 'i\u0307'],
  ['ı@I.example', 'ı@i.example'],
  ['\u200b ann\u00ada@exa\u200dmple.com \ufeff', 'anna@example.com'],
  ['a@نامه\u200cای.com', 'a@xn--mgba3gch31f060k.com'],
  ['a@é.1', 'a@é.1'],
  ['a@%41.é', 'a@%41.é'],
  ['a@é/b', 'a@é/b'],
])('the canonical form of %j is %j', (typed, key) => {
  expect(canonicalName(typed)).toBe(key);
});

test('a canonical form is its own, and that of what is shown and mailed to', () => {
  const odd = fc.constantFrom(
    '@',
    'é',
    'ẞ',
    'ς',
    'ı',
    'İ',
    '\u0307',
    '\u200d',
    '\u00ad',
    ' ',
    '.',
    'xn--',
    '１',
    'ﬃ',
    '\u0345',
    '/',
    '。',
  );
  const name = fc.string({ unit: fc.oneof(fc.string({ unit: 'binary', maxLength: 3 }), odd) });
  fc.assert(
    fc.property(name, (typed) => {
      const { shown, address, key } = readName(typed);
      expect([shown, address, key].map(canonicalName)).toEqual([key, key, key]);
    }),
    { numRuns: 1_000 },
  );
});

test('a long name takes little time', () => {
  const started = performance.now();
  canonicalName('\u0301\u0327'.repeat(30_000));
  canonicalName(`a@${'\u0301\u0327'.repeat(30_000)}`);
  expect(performance.now() - started).toBeLessThan(1_000);
});

test('a new name has no character that counts as ASCII or resembles it, except ß', () => {
  expect(['\u212a', 'ſ', 'İ', 'Ａ', 'ﬁ', '１'].map(lookalikeIn)).toEqual(['\u212a', 'ſ', 'İ', 'Ａ', 'ﬁ', '１']);
  expect(['weiß@é.example', 'ıσ', '名前', 'toString', '__proto__', ''].map(lookalikeIn)).toEqual(
    Array(6).fill(undefined),
  );
});

test.each([
  ['anna@zürich.example', true],
  ['Ann@例え.example', true],
  [`a@${'é'.repeat(60)}.example`, false],
  ['a@é/b.example', false],
  ['a@b\u200d.c', true],
  ['\u212a@example.com', false],
])('%j is an e-mail address: %j', (text, isAddress) => {
  expect(isEmailAddress(text)).toBe(isAddress);
});
