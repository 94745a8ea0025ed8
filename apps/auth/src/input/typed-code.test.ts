// Tests how typed codes are read.
import { expect, test } from '@jest/globals';
import { readCode } from './typed-code.ts';

test.each([
  ['699-536', '699536'],
  ['６９９ ５３６', '699536'],
  ['٦٩٩\u00a0٥٣٦', '699536'],
  ['६९९‑५३६', '699536'],
  ['\u{1e956}\u{1e959}\u{1d7ff}', '699'],
  ['abcd–EFGH—jk\u2212m\ufe58n\u200b\u202f\ufeff', 'abcdEFGHjkmn'],
  ['①²', '12'],
  ['', ''],
  ['- –', ''],
])('%j is the code %j', (typed, code) => {
  expect(readCode(typed)).toBe(code);
});

test('a long text is cut, in little time', () => {
  expect(readCode('\u0301\u0327'.repeat(30_000))).toHaveLength(100);
});
