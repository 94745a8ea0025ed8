// Tests the TypeScript example of an endpoint that packages/client can call only with `client.request`.
import { expect, test } from '@jest/globals';
import { codeSamples } from './code-samples.ts';

const endpoint = {
  operationId: 'renameBay',
  method: 'PUT',
  path: '/api/booking-bays/{id}',
  access: 'write',
  tag: 'Places',
  summary: '',
  description: '',
  handle: async () => ({ status: 204 }),
} as const;

/** Returns the last paragraph of the TypeScript example, which sends the request. */
const sampleOf = (details: Partial<Parameters<typeof codeSamples>[0]>) =>
  codeSamples({ ...endpoint, success: { status: 204, description: '' }, ...details }, 'https://bookings.example')
    .find(({ lang }) => lang === 'TypeScript')
    ?.source.split('\n\n')
    .at(-1);

test('the example calls client.request with the path, query and body of the example', () => {
  const params = { id: { description: '', schema: {}, example: 'bay-1' } };
  const bodyExample = { name: 'Bay 1' };
  expect(sampleOf({ params, queryExamples: { notify: true }, bodyExample })).toBe(
    `await client.request('renameBay', {
  path: {
    id: 'bay-1'
  },
  query: {
    notify: true
  },
  body: {
    name: 'Bay 1'
  }
});`,
  );
});

test('the example prints the data of the response, if there is any', () => {
  expect(sampleOf({ success: { status: 200, description: '', schema: {} } })).toBe(
    "const { data } = await client.request('renameBay', {});\nconsole.log(data);",
  );
});
