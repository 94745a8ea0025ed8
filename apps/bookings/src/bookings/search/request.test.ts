// Tests the patterns for letters that have several cases, several spellings, or none.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { textPattern } from './request.ts';

/** PostgreSQL writes U+0020 as \U00000020. */
const matches = (pattern: string, text: string): boolean =>
  new RegExp(pattern.replace(/\\U([0-9a-f]{8})/g, '\\u{$1}'), 'u').test(text);

test.each([
  ['ada', 'ADA'],
  ['ΟΔΟΣ', 'οδος'],
  ['STRASSE', 'straße'],
  ['Straße', 'STRASSE'],
  ['é', 'E\u0301'],
  ['e\u0301', 'É'],
  ['office', 'OﬃCE'],
  ['.*|[a]', '.*|[A]'],
  ['🏌 50%_\\', '🏌 50%_\\'],
])('the pattern of %s finds %s, unless it lacks the next letter', (text, stored) => {
  expect(matches(textPattern(text), `x${stored}y`)).toBe(true);
  expect(matches(textPattern(`${text}z`), `x${stored}y`)).toBe(false);
});

test('the pattern of any text finds its upper and lower case and nothing in an empty text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constantFrom('NFC', 'NFD'), (text, form) => {
      const pattern = textPattern(text);
      for (const stored of [text, text.toUpperCase(), text.toLowerCase()])
        expect(matches(pattern, stored.normalize(form))).toBe(true);
      expect(matches(pattern, '')).toBe(false);
    }),
    { numRuns: 500 },
  );
});
