// Tests the validation of the fields of a request.
import { expect, test } from '@jest/globals';
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

test('a validator returns the valid fields, without unknown fields and fields that are null', () => {
  expect(validate({ a: 'xx', b: 1, c: null, d: 4 })).toEqual({ value: { a: 'xx', b: 1 }, validationErrors: [] });
});

test('a validator reports each error with its path, and returns the valid fields', () => {
  const { value, validationErrors } = validate({ a: 'x', c: ['\u0000', 1, 'x'] });
  expect(value).toEqual({});
  expect(validationErrors.map(({ field, path, kind }) => [field, path, kind]).sort()).toEqual([
    ['a', 'a', 'invalid'],
    ['b', 'b', 'missing'],
    ['c', 'c', 'invalid'],
    ['c', 'c[0]', 'invalid'],
    ['c', 'c[1]', 'invalid'],
  ]);
  expect(validate({ a: 'xxx', b: 1 })).toEqual({
    value: { b: 1 },
    validationErrors: [{ field: 'a', path: 'a', kind: 'invalid', hint: 'must be even' }],
  });
});

test('a validator keeps null in a field whose schema allows null', () => {
  const properties = { a: { type: ['object', 'null'] }, b: { type: 'object' } };
  const { value, validationErrors } = createValidator({})({ type: 'object', properties })({ a: null, b: null });
  expect([value, validationErrors]).toEqual([{ a: null }, []]);
});

test('a validator ignores the field `__proto__`', () => {
  expect(validate(JSON.parse('{"a":"xx","b":1,"__proto__":{"c":["y"]}}'))).toEqual({
    value: { a: 'xx', b: 1 },
    validationErrors: [],
  });
});

test.each<[object, unknown, string]>([
  [{ type: 'string', minLength: 1 }, '', 'must not be empty'],
  [{ type: 'string', minLength: 2 }, 'x', 'must have at least 2 characters'],
  [{ type: 'string', maxLength: 2 }, 'xxx', 'must have at most 2 characters'],
  [{ type: 'array', minItems: 1 }, [], 'must not be empty'],
  [{ type: 'array', maxItems: 1 }, [1, 2], 'must have at most 1 items'],
  [{ type: 'integer', minimum: 1 }, 0, 'must be 1 or more'],
  [{ type: 'integer', maximum: 1000 }, 1001, 'must be 1000 or less'],
  [{ enum: ['active', 'paused'] }, 'off', 'must be one of active, paused'],
])('a validator for %j rejects %j with the hint: %s', (schema, field, hint) => {
  const { validationErrors } = createValidator({})({ type: 'object', properties: { field: schema } })({ field });
  expect(validationErrors).toEqual([{ field: 'field', path: 'field', kind: 'invalid', hint }]);
});

test('a validator leaves out a field of which a part is missing or unknown', () => {
  const item = {
    type: 'object',
    required: ['x'],
    additionalProperties: false,
    properties: { x: { type: 'integer' } },
  };
  const schema = { type: 'object', properties: { list: { type: 'array', items: item } } };
  expect(createValidator({})(schema)({ list: [{ x: 1 }, {}, { x: 1, y: 2 }] })).toEqual({
    value: {},
    validationErrors: [
      { field: 'x', path: 'list[1].x', kind: 'missing', hint: '' },
      { field: 'list', path: 'list[2].y', kind: 'invalid', hint: 'must not have the field y' },
    ],
  });
});
