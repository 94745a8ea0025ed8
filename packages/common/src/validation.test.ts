// Tests the validation of the fields of a request.
import { describe, expect, test } from '@jest/globals';
import { createValidator } from './validation.ts';

const validate = createValidator({ even: { test: (text) => text.length % 2 === 0, hint: 'must be even' } })({
  type: 'object',
  required: ['a', 'b'],
  properties: {
    a: { type: 'string', minLength: 2, format: 'even' },
    b: { type: 'integer' },
    c: { type: 'array', items: { type: 'string', pattern: '^[^\\p{Cc}]*$' }, maxItems: 2 },
  },
});

describe('createValidator', () => {
  test('returns the valid fields; leaves out unknown fields and fields that are null', () => {
    expect(validate({ a: 'xx', b: 1, c: null, d: 4 })).toEqual({ value: { a: 'xx', b: 1 }, validationErrors: [] });
  });

  test('reports each invalid field once and returns the valid fields', () => {
    const { value, validationErrors } = validate({ a: 'x', c: ['\u0000', 1, 'x'] });
    expect(value).toEqual({});
    expect(validationErrors.map(({ field, kind }) => [field, kind]).sort()).toEqual([
      ['a', 'invalid'],
      ['b', 'missing'],
      ['c', 'invalid'],
    ]);
    expect(validate({ a: 'xxx', b: 1 })).toEqual({
      value: { b: 1 },
      validationErrors: [{ field: 'a', kind: 'invalid', hint: 'must be even' }],
    });
  });

  test('ignores an own property that has the name of a prototype property', () => {
    expect(validate(JSON.parse('{"a":"xx","b":1,"__proto__":{"c":["y"]}}'))).toEqual({
      value: { a: 'xx', b: 1 },
      validationErrors: [],
    });
  });
});
