// Checks that packages/client has every endpoint and every error code of the OpenAPI document, and that its README
// lists every method.
import { createBookingsClient } from '@bay-booking/client';
import { read } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';
import { operationsById } from '../../packages/client/src/generated/operations.ts';

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string }[];
}

const document = read('apps/bookings/openapi.json');
const { paths } = JSON.parse(document) as { paths: Record<string, Record<string, Operation>> };

test('the client has every endpoint of the document', () => {
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [] }]) => [
      operationId,
      {
        method: method.toUpperCase(),
        path,
        ...(parameters.some(({ name }) => name === 'Idempotency-Key') && { acceptsIdempotencyKey: true }),
      },
    ]),
  );
  // The next assertion would be useless if the code above found no endpoints. The document has more than 30.
  expect(documented.length).toBeGreaterThan(30);
  expect(operationsById).toEqual(Object.fromEntries(documented));
});

test('the type ErrorCode has every error code of the document', () => {
  const documented = new Set([...document.matchAll(/"((?:ERR|BOOK|CLOS|HOOK)\d{5})"/g)].map(([, code]) => code));
  const typed = [...read('packages/client/src/generated/error-codes.ts').matchAll(/\| '(\w+)'/g)].map(
    ([, code]) => code,
  );
  expect(typed.toSorted()).toEqual([...documented].toSorted());
});

test('the README of the client lists every method', () => {
  const client = createBookingsClient({ baseUrl: 'https://bookings.example', auth: () => 'token' });
  // A row of the table has the form: | `client.RESOURCE` | `METHOD`, `METHOD` |
  const listed = [...read('packages/client/README.md').matchAll(/^\| `client\.(\w+)` \| (.+) \|$/gm)].map(
    ([, name, methods = '']) => [name, methods.replaceAll('`', '').split(', ').toSorted()],
  );
  const members = Object.entries(client);
  const resources = members.filter(([, member]) => typeof member === 'object');
  const existing = resources.map(([name, methods]) => [name, Object.keys(methods).toSorted()]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(existing));
  const methods = members.filter(([, member]) => typeof member === 'function').map(([name]) => name);
  const readme = read('packages/client/README.md');
  expect(methods.filter((name) => !readme.includes(`client.${name}(`))).toEqual([]);
});
