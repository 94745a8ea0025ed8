// Tests which characters requests may contain.
import { createAjv } from '@bay-booking/common/validation';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isText, patternWithout, textSchema } from './schemas.ts';

/** Generates texts of random UTF-16 code units, of which many are lone surrogates. */
const randomTexts = fc
  .array(fc.oneof(fc.nat(0xffff), fc.nat(0xff), fc.integer({ min: 0xd800, max: 0xdfff })), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units));

test.each([
  ['control characters and lone surrogates', textSchema.pattern, /^[^\p{Cc}\p{Cs}]*$/u],
  ['NUL and lone surrogates', patternWithout('\\u0000'), /^[^\0\p{Cs}]*$/u],
])('the validation of a pattern excludes exactly %s', (_title, pattern, expected) => {
  const validate = createAjv({}).compile({ type: 'string', pattern });
  const isAsExpected = (text: string): boolean => validate(text) === expected.test(text);
  // Above U+2000 there are no control characters, so every 97th code point is enough. `randomTexts` covers surrogates.
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += codePoint < 0x2000 ? 1 : 97) {
    if (!isAsExpected(String.fromCodePoint(codePoint))) throw new Error(`wrong for code point ${codePoint}`);
  }
  fc.assert(fc.property(randomTexts, isAsExpected), { numRuns: 2000 });
});

// A character such as 🏌 has two code units, so isText accepts up to 512 code units.
test('isText accepts 256 characters, and rejects empty text, 513 code units, line feeds and lone surrogates', () => {
  expect(['a', 'é'.repeat(256), '🏌'.repeat(256)].map(isText)).toEqual([true, true, true]);
  expect(['', 'a'.repeat(513), 'a\n', '\ud800'].map(isText)).toEqual([false, false, false, false]);
});
