// Tests reading and writing query strings (docs/behaviour.md, "Query parameters").
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { convertQuery, findUnknownParameters, readQueryString, writeQueryString } from './query-string.ts';

const properties = {
  ids: { type: 'array' },
  name: { type: 'string' },
  isActive: { type: 'boolean' },
  page: { type: 'integer' },
  metadata: { type: 'object' },
};
const sent = (text: string) => readQueryString(text, properties);
const read = (text: string) => convertQuery(sent(text), properties);

describe('readQueryString', () => {
  test.each([
    ['repeated', 'ids=a&ids=b', ['a', 'b']],
    ['bracketed', 'ids[]=a&ids%5B%5D=b', ['a', 'b']],
    // An element may itself contain a comma, so the whole value is also an element.
    ['comma-separated, and adds the whole value as an element', 'ids=a,b', ['a', 'b', 'a,b']],
    ['comma-separated with encoded commas', 'ids=a%2Cb', ['a', 'b', 'a,b']],
    ['comma-separated with spaces', 'ids=a, b', ['a', 'b', 'a, b']],
    ['indexed', 'ids[0]=a&ids%5B99999999999%5D=b', ['a', 'b']],
    ['not UTF-8', 'ids=%ED%A0%80,M%FCller', ['\ud800\ud800\ud800', 'M\ud800ller', '\ud800\ud800\ud800,M\ud800ller']],
    // A value of `ids[]` is not split. The whole value `a,b` comes last.
    ['written in several forms', 'ids=a,b&ids=c&ids[]=d,e', ['a', 'b', 'c', 'd,e', 'a,b']],
    ['given as an empty value', 'ids=', ['']],
    ['comma-separated and all empty', 'ids=,', ['', ',']],
    ['one element with spaces', 'ids= a ', ['a', ' a ']],
    ['partly empty', 'ids=a,&ids=&ids[]=&ids=, ,b', ['a', 'b', 'a,', ', ,b']],
  ])('reads an array that is %s', (_form, text, ids) => expect(read(text)).toEqual({ ids }));

  test('converts a value to the type of its property if possible, and does not change any other value', () => {
    expect(read('page=2&isActive=false&name=2')).toEqual({ page: 2, isActive: false, name: '2' });
    expect(read('page=2.0&isActive=yes')).toEqual({ page: '2.0', isActive: 'yes' });
    expect(read('page=1&page=2&name=')).toEqual({ page: ['1', '2'], name: '' });
    // A number that is too large becomes the largest safe integer.
    expect(read(`page=${'9'.repeat(50)}`)).toEqual({ page: Number.MAX_SAFE_INTEGER });
  });

  test.each(['true', 'True', 'TRUE', '1'])('reads %s as true', (text) =>
    expect(read(`isActive=${text}`)).toEqual({ isActive: true }),
  );

  test.each(['false', 'False', 'FALSE', '0'])('reads %s as false', (text) =>
    expect(read(`isActive=${text}`)).toEqual({ isActive: false }),
  );

  test.each([
    ['metadata[a]=1&metadata%5Bb%5D=x%26y', { a: '1', b: 'x&y' }],
    ['metadata[0]=x&metadata[]=y', { 0: 'x', '': 'y' }],
    ['metadata[a]=1&metadata[a]=2', { a: ['1', '2'] }],
    ['metadata[__proto__]=x&metadata[a[b]]=y', JSON.parse('{ "__proto__": "x", "a[b]": "y" }')],
    // These values are no objects, so the validation rejects them.
    ['metadata=x', 'x'],
    ['metadata=x&metadata[a]=1', 'x'],
  ])('reads the members of an object: %s', (text, metadata) => expect(read(text)).toEqual({ metadata }));

  test('ignores unknown names, names of the object prototype, and brackets after a name that is not an array', () => {
    expect(read('colour=red&__proto__=x&toString=y&page[]=1')).toEqual({});
    expect(read('')).toEqual({});
  });
});

test('readQueryString returns the values that writeQueryString has written', () => {
  // A list also gives its elements.
  const sorted = ({ ids, ...others }: Record<string, unknown>) => ({
    ...others,
    ids: [...new Set(ids as string[] | undefined)].toSorted(),
  });
  const text = fc.string({ unit: 'grapheme', minLength: 1 });
  const element = fc.oneof(text, fc.constantFrom('a', 'b', 'a,b', 'b, a', ','));
  fc.assert(
    fc.property(
      fc.record(
        {
          ids: fc.uniqueArray(element, { minLength: 1, maxLength: 5 }),
          name: text,
          isActive: fc.boolean(),
          page: fc.integer({ min: 1, max: 1_000_000 }),
          metadata: fc.dictionary(fc.string({ unit: 'grapheme' }), text, { minKeys: 1 }),
        },
        { requiredKeys: [] },
      ),
      (values) => {
        const withoutQuestionMark = writeQueryString(values).slice(1);
        expect(sorted(read(withoutQuestionMark))).toEqual(sorted(values));
      },
    ),
  );
});

test('findUnknownParameters returns the parameters that the schema does not contain', () => {
  expect(findUnknownParameters('ids=a&ids[]=b&ids[0]=c&name=d&metadata[e]=f&metadata[0]=g', properties)).toEqual([]);
  const unknown = findUnknownParameters('bayId=a&name[]=b&bayId=c&toString=d&ids[x]=e', properties);
  expect(unknown).toEqual(['bayId', 'name[]', 'toString', 'ids[x]']);
});

test.each([
  ['ids=a,b&ids=b', '?ids=a%2Cb'],
  ['ids=a, b&ids[]=c,d&ids=e&ids=e', '?ids=a%2C%20b&ids=e&ids%5B%5D=c%2Cd'],
  ['ids=a,&ids=', '?ids=a%2C'],
  ['ids=%20a', '?ids=%20a'],
  ['isActive=1&page=%2B02', '?isActive=1&page=%2B02'],
])('writeQueryString writes each value of %s once, as it was sent', (text, written) =>
  expect(writeQueryString(sent(text))).toBe(written),
);

test('writeQueryString returns an empty string if there is no value', () => {
  expect(writeQueryString({ ids: undefined })).toBe('');
});

test('the time to read a query grows linearly with its parameters', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`list${index}`, { type: 'array' }]));
  const text = `${'a&'.repeat(60_000)}list0[]=b`;
  const started = performance.now();
  expect(readQueryString(text, many)).toEqual({ list0: ['b'] });
  expect(findUnknownParameters(text, many)).toEqual(['a']);
  // One pass for each array would take more than 10 s.
  expect(performance.now() - started).toBeLessThan(3_000);
});
