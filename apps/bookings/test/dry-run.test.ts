// Tests that a dry run says what the request itself would answer, with generated requests (docs/behaviour.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Response } from 'supertest';
import { createTestSystem } from './support/test-system.ts';

const day = 24 * 3_600_000;
let today = Date.UTC(2040, 0, 1);
let now = today;
const system = useFixture(() => createTestSystem({ now: () => new Date(now), config: { management: true } }));
const path = '/api/booking-groups';
const manager = { scope: 'https://bay-booking.example/golf/bookings https://bay-booking.example/golf/schedule' };

const timesAt = (hour: number) => ({
  startDate: new Date(today + hour * 3_600_000).toISOString(),
  endDate: new Date(today + (hour + 1) * 3_600_000).toISOString(),
});
const bays = ['bay-n1-01', 'bay-n1-02', 'bay-n1-03', 'bay-n1-99', 'bay-s1-01', 'bay-nowhere'];

/** What the requests meet. The first member of the group ends before the requests, the second is in a closure. */
async function prepare() {
  today += day;
  now = today;
  const create = async (to: string, body: object) => {
    const response = await system.call('POST', to, { body });
    expect(response.status).toBe(201);
    return response;
  };
  const member = (bayId: string, hour: number) => ({ bayId, userAlias: 'Ann', ...timesAt(hour) });
  const bookings = [member('bay-n1-01', 1), member('bay-n1-01', 8), member('bay-n1-02', 8)];
  const group = await create(path, { bookings });
  const other = await create('/api/bookings', { ...member('bay-n1-03', 9), externalBookingId: `taken-${today}` });
  const hold = await create('/api/booking-holds', { bayId: 'bay-n1-02', ...timesAt(9) });
  await create('/api/booking-closures', { bayIds: ['bay-n1-01'], ...timesAt(8) });
  const ids: string[] = group.body.bookings.map(({ id }: { id: string }) => id);
  now = today + 2 * 3_600_000;
  return {
    groupPath: `${path}/${group.body.id}`,
    ids: [...ids, other.body.id],
    etag: group.headers.etag as string,
    hold,
  };
}

const entry = fc.record(
  {
    member: fc.constantFrom(1, 1, 2, 2, 0, 3),
    bayId: fc.constantFrom('bay-n1-01', 'bay-n1-02', ...bays),
    hour: fc.constantFrom(8, 8, 9, 10, 0),
    userAlias: fc.constantFrom('Ann', 'Bob', ''),
    externalBookingId: fc.constantFrom('new', 'taken'),
    hasHold: fc.boolean(),
  },
  { requiredKeys: ['bayId', 'hour', 'userAlias'] },
);

const expectSameAnswer = (dry: Response, real: Response): void => {
  if (real.status < 300) expect([dry.status, dry.body]).toEqual([200, { bookings: [] }]);
  else expect([dry.status, dry.body]).toEqual([real.status, real.body]);
};

test('a dry run of POST and PUT of a group has the status and the errors of the request itself', async () => {
  const statuses = new Set<number>();
  const unchanged = { userAlias: 'Ann', hour: 8 } as const;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('POST', 'PUT'),
      fc.array(entry, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(undefined, undefined, 'current', '"stale"'),
      async (method, entries, ifMatch) => {
        const { groupPath, ids, etag, hold } = await prepare();
        const bookings = entries.map(({ member, hour, hasHold, externalBookingId, ...fields }) => ({
          ...fields,
          ...timesAt(hour),
          ...(member !== undefined && { id: ids[member] }),
          ...(hasHold && { holdId: hold.body.id }),
          ...(externalBookingId && { externalBookingId: `${externalBookingId}-${today}` }),
        }));
        const send = (fields: object) =>
          system.call(method, method === 'POST' ? path : groupPath, {
            body: { bookings, ...fields },
            headers: ifMatch ? { 'If-Match': ifMatch === 'current' ? etag : ifMatch } : {},
          });
        const dry = await send({ dryRun: true });
        const real = await send({});
        statuses.add(real.status);
        expectSameAnswer(dry, real);
      },
    ),
    {
      numRuns: 40,
      examples: [
        ['PUT', [{ member: 1, bayId: 'bay-n1-01', ...unchanged }], undefined],
        ['PUT', [{ member: 1, bayId: 'bay-n1-01', ...unchanged, userAlias: 'Bob' }], 'current'],
        [
          'PUT',
          [
            { member: 1, bayId: 'bay-n1-02', ...unchanged },
            { member: 2, bayId: 'bay-n1-01', ...unchanged },
          ],
          undefined,
        ],
        [
          'PUT',
          [
            { member: 2, bayId: 'bay-n1-02', ...unchanged, hasHold: true },
            { bayId: 'bay-n1-02', ...unchanged, hour: 9 },
          ],
          undefined,
        ],
        [
          'PUT',
          [
            { member: 1, bayId: 'bay-n1-01', ...unchanged },
            { bayId: 'bay-n1-99', ...unchanged, userAlias: '' },
          ],
          undefined,
        ],
        ['POST', [{ bayId: 'bay-n1-03', ...unchanged }], undefined],
      ],
    },
  );
  expect([...statuses].toSorted()).toEqual([200, 201, 400, 412]);
});

test('an unchanged booking in a closure is no error, also beside other errors', async () => {
  const { groupPath, ids } = await prepare();
  const times = timesAt(8);
  const bookings = [
    { id: ids[1], bayId: 'bay-n1-01', userAlias: 'Ann', ...times },
    { id: ids[2], bayId: 'bay-nowhere', userAlias: 'Ann', ...times },
  ];
  const { body } = await system.call('PUT', groupPath, { body: { bookings } });
  expect(body.errors).toMatchObject([{ code: 'ERR00012', contextData: { index: 1 } }]);
});

test('a dry run of an erasure has the number or the errors of the erasure', async () => {
  const { ids } = await prepare();
  const token = await system.token(['fac-north'], manager);
  const bodies = [
    { ids: [ids[0], ids[3], ids[3]?.toUpperCase(), 'unknown'] },
    { ids: [ids[0]] },
    { userAlias: 'Ann' },
    { userAlias: 'nobody' },
    { ids: [], userAlias: 'Ann' },
    { ids, userAlias: 'Ann' },
    {},
  ];
  for (const body of bodies) {
    const send = (fields: object) =>
      system.call('POST', '/api/booking-erasures', { body: { ...body, ...fields }, token });
    const dry = await send({ dryRun: true });
    const real = await send({});
    expect([dry.status, dry.body]).toEqual([real.status, real.body]);
  }
});

test('a dry run of the management API has the errors of the request itself', async () => {
  await prepare();
  const scope = 'https://bay-booking.example/operate/bookings';
  const token = await system.token([], { scope, client_id: 'operator', sub: 'operator' });
  const facility = { name: 'Tried', timeZone: 'UTC' };
  const requests: [method: string, path: string, body?: object | undefined, headers?: Record<string, string>][] = [
    ['PUT', 'facilities/fac-tried', { ...facility, name: 7 }],
    ['PUT', 'facilities/fac-tried', { ...facility, timeZone: 'Nowhere' }],
    ['PUT', 'facilities/fac-tried', facility, { 'If-Match': '"stale"' }],
    ['PUT', 'facilities/fac-tried', facility],
    ['PUT', 'facilities/fac-tried', facility, { 'If-None-Match': '*' }],
    ['PUT', 'facilities/fac-tried', { ...facility, name: 'Tried again' }],
    ['PUT', 'bays/bay-n1-01', { name: 'Bay', locationId: 'loc-none' }],
    ['DELETE', 'bays/bay-n1-01'],
    ['DELETE', 'facilities/fac-tried', undefined, { 'If-Match': '"stale"' }],
    ['DELETE', 'facilities/fac-tried'],
    ['DELETE', 'facilities/fac-tried'],
  ];
  const statuses = new Set<number>();
  for (const [method, path, body, headers = {}] of requests) {
    const send = (query: string) => system.call(method, `/management/${path}${query}`, { token, body, headers });
    const dry = await send('?dryRun=true');
    const real = await send('');
    expect([method, path, dry.status, dry.body.errors]).toEqual([method, path, 200, real.body.errors ?? []]);
    statuses.add(real.status);
  }
  expect([...statuses].toSorted()).toEqual([200, 201, 204, 400, 404, 409, 412]);
  const imported = { ...facility, id: 'fac-imported' };
  for (const facilities of [
    [
      { ...imported, name: 7 },
      { ...imported, timeZone: 'Nowhere' },
    ],
    [imported],
  ]) {
    const send = (query: string) => system.call('POST', `/management/import${query}`, { token, body: { facilities } });
    const dry = await send('?dryRun=true');
    const real = await send('');
    const errors = dry.body.entries.flatMap((found: { errors: object[] }) => found.errors);
    expect(errors).toEqual(real.body.errors ?? []);
  }
});
