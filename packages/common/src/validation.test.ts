// Faults of a request's fields, by name and kind.
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
  test('valid fields without validation errors; unknown ones left out; null is as good as nothing', () => {
    expect(validate({ a: 'xx', b: 1, c: null, d: 4 })).toEqual({ value: { a: 'xx', b: 1 }, validationErrors: [] });
  });

  test('each field at fault once, and the valid ones kept', () => {
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

  test('an own property named like one of the prototype is data, not a field', () => {
    expect(validate(JSON.parse('{"a":"xx","b":1,"__proto__":{"c":["y"]}}'))).toEqual({
      value: { a: 'xx', b: 1 },
      validationErrors: [],
    });
  });
});
