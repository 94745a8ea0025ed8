// Tests which characters requests may contain.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findTextErrors, hasFormat, isText } from './text.ts';
import { createCompiler } from './validation.ts';

/** Generates texts of random UTF-16 code units, of which many are lone surrogates. */
const randomTexts = fc
  .array(fc.oneof(fc.nat(0xffff), fc.nat(0xff), fc.integer({ min: 0xd800, max: 0xdfff })), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units));

test.each([
  ['text', /^[^\p{Cc}\p{Cs}]*$/u],
  ['note', /^[^\0\p{Cs}]*$/u],
  ['name', /^((?=.*[^\s\p{Cf}\p{DI}\u2800])[^\p{Cc}\p{Cs}\p{Bidi_Control}]+)?$/su],
  ['id', /^(?!\.{1,2}$)[^\p{Cc}\p{Cs}\p{Bidi_Control}]*$/u],
] as const)('the format %s has exactly the strings that match %s', (format, expected) => {
  const findErrors = createCompiler({})({ type: 'object', properties: { a: { type: 'string', format } } });
  const isAsExpected = (text: string): boolean =>
    hasFormat(format, text) === expected.test(text) && findErrors({ a: text }).length === (expected.test(text) ? 0 : 1);
  // Above U+2100 there are no control characters, so every 97th code point is enough. `randomTexts` covers surrogates.
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += codePoint < 0x2100 ? 1 : 97) {
    if (!isAsExpected(String.fromCodePoint(codePoint))) throw new Error(`wrong for code point ${codePoint}`);
  }
  const dots = ['.', '..', '...', '.a', '..a', 'a.', 'a..', '.\u202e', '..\u202e', '. '];
  const lineSeparators = ['\u2028a', '\u2029\u200b'];
  expect([...dots, ...lineSeparators].filter((text) => !isAsExpected(text))).toEqual([]);
  fc.assert(fc.property(randomTexts, isAsExpected), { numRuns: 2000 });
});

// A character such as 🏌 has two code units, so isText accepts up to 512 code units.
test('isText accepts 256 characters, and rejects empty text, 513 code units, line feeds and lone surrogates', () => {
  expect(['a', 'é'.repeat(256), '🏌'.repeat(256)].map(isText)).toEqual([true, true, true]);
  expect(['', 'a'.repeat(513), 'a\n', '\ud800'].map(isText)).toEqual([false, false, false, false]);
});

test('findTextErrors finds NUL, lone surrogates and too many levels, wherever they are', () => {
  const pointersIn = (value: unknown) => findTextErrors(value).map(({ pointer }) => pointer);
  expect(
    pointersIn(JSON.parse('{"a":["x","\\u0000"],"b":{"~/":"\\ud800"},"__proto__":{"\\udc00":1},"c":"🏌"}')),
  ).toEqual(['/a/1', '/b/~0~1', '/__proto__/\udc00']);
  expect(pointersIn(['\0', { '\0': '\0' }, null, 1])).toEqual(['/0', '/1/\0']);
  const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  expect(pointersIn(deep)).toEqual(['/0'.repeat(100)]);
  expect(pointersIn(Array(1000).fill('\0'))).toHaveLength(100);
});
