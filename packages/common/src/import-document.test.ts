// Tests that the errors of import files are reported with their paths and reasons.
import { describe, expect, test } from '@jest/globals';
import { createImportReader, elementsOf, findDuplicates, ImportError, propertyOf } from './import-document.ts';

const schema = {
  type: 'object',
  required: ['items'],
  additionalProperties: false,
  properties: {
    items: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string', pattern: '^[a-z]*$' }, kind: { enum: ['big', 'small'] } },
      },
    },
  },
};
const read = createImportReader<{ items: object[] }>(schema, (root) =>
  findDuplicates(elementsOf(root, 'items'), 'id', (id) => id.toLowerCase()),
);

function errorsOf(document: unknown): readonly string[] {
  try {
    read(JSON.stringify(document));
    return [];
  } catch (error) {
    if (error instanceof ImportError) return error.errors;
    throw error;
  }
}

describe('createImportReader', () => {
  test('returns a valid document', () => {
    expect(read('{"items":[{"id":"a","kind":"big"}]}')).toEqual({ items: [{ id: 'a', kind: 'big' }] });
  });

  test.each<[string, unknown, string[]]>([
    ['a document that is not an object', 3, ['/: must be object']],
    ['a missing property', {}, ['/items: is missing']],
    ['an unknown property', { items: [], more: 1 }, ['/more: is not known']],
    ['an unknown property with special characters', { items: [], 'a/b~c': 1 }, ['/a~1b~0c: is not known']],
    ['a missing property of an element', { items: [{}] }, ['/items/0/id: is missing']],
    ['a wrong type', { items: [{ id: 1 }] }, ['/items/0/id: must be string']],
    [
      'text that does not match the pattern',
      { items: [{ id: '7' }] },
      ['/items/0/id: has a character that is not allowed'],
    ],
    [
      'a value that is not in the enum',
      { items: [{ id: 'a', kind: 'huge' }] },
      ['/items/0/kind: must be one of big, small'],
    ],
  ])('reports %s with the path and the reason', (_title, document, errors) => {
    expect(errorsOf(document)).toEqual(errors);
  });

  test('reports schema errors and duplicates together', () => {
    expect(errorsOf({ items: [{ id: 'a' }, {}, { id: 'b' }, { id: 'A' }] })).toEqual([
      '/items/1/id: is missing',
      '/items/3/id: has a character that is not allowed',
      '/items/3/id: is the same as /items/0/id',
    ]);
  });

  test('rejects text that is not JSON, and lists every error in the message', () => {
    expect(() => read('{')).toThrow(/^Nothing was imported. The file has 1 error:\n {2}\/: is not valid JSON \(/);
    expect(() => read('{"a":1}')).toThrow('The file has 2 errors:\n  /items: is missing\n  /a: is not known');
  });
});

test('propertyOf and elementsOf ignore values of another type and inherited properties', () => {
  expect(propertyOf({ path: '', value: null }, 'a')).toEqual({ path: '/a', value: undefined });
  expect(propertyOf({ path: '/x', value: {} }, 'toString')).toEqual({ path: '/x/toString', value: undefined });
  expect(elementsOf({ path: '', value: { a: 'text' } }, 'a')).toEqual([]);
});
