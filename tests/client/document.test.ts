// Checks that the README of packages/client lists every method.
import { createBookingsClient } from '@bay-booking/client';
import { read } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';

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
