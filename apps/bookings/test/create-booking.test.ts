// Tests POST /api/bookings (specification, "POST /api/bookings" and "Errors").
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { baseUrl, createTestSystem } from './support/test-system.ts';

// The default token of the system permits fac-north and fac-south. The bay bay-e1-01 is in fac-east, and bay-n1-99 is
// not bookable (support/places.ts). Each call of `bookingBody` returns a body with another time, in 2040 or later.
const system = useFixture(() => createTestSystem());

const post = (body: unknown, headers: Record<string, string> = {}) =>
  system.call('POST', '/api/bookings', { body, headers });

describe('201 for a valid request', () => {
  test('the response has the booking with its links, and the headers Location and ETag', async () => {
    const body = { ...bookingBody(), bayId: 'bay-n1-01', externalBookingId: 'ext-1', correlationId: 'session-1' };
    const response = await post(body);
    expect(response.status).toBe(201);
    const { id, createdAt, lastUpdatedAt, ...otherFields } = response.body;
    const href = `${baseUrl}/api/bookings/${id}`;
    expect(otherFields).toEqual({
      externalBookingId: 'ext-1',
      correlationId: 'session-1',
      bayId: 'bay-n1-01',
      userAlias: 'Ann',
      startDate: body.startDate,
      endDate: body.endDate,
      _links: { self: { method: 'GET', href }, edit: { method: 'PUT', href }, delete: { method: 'DELETE', href } },
    });
    expect(createdAt).toBe(lastUpdatedAt);
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
    expect(response.headers.location).toBe(href);
    expect(response.headers.etag).toMatch(/^"[^"]+"$/);
    expect(response.headers['cache-control']).toBe('no-store');
    const found = await system.call('GET', `/api/bookings/${id}`);
    expect(found.body).toEqual(response.body);
    expect(found.headers.etag).toBe(response.headers.etag);
  });

  test('createdAt and lastUpdatedAt are ISO 8601 date-times with fractional seconds, in every response', async () => {
    const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
    const before = Date.now();
    const created = await post(bookingBody());
    const path = `/api/bookings/${created.body.id}`;
    const updated = await system.call('PUT', path, { body: bookingBody({ bayId: 'bay-n1-08' }) });
    const found = await system.call('GET', `/api/bookings?ids=${created.body.id}`);
    const upcoming = await system.call('GET', '/api/bays/bay-n1-08/upcoming-bookings');
    for (const booking of [
      created.body,
      updated.body,
      (await system.call('GET', path)).body,
      found.body.items[0],
      upcoming.body.items[0],
    ]) {
      expect(booking.createdAt).toMatch(dateTime);
      expect(booking.lastUpdatedAt).toMatch(dateTime);
      expect(booking.createdAt).toBe(created.body.createdAt);
    }
    expect(Date.parse(created.body.createdAt)).toBeGreaterThanOrEqual(before - 1_000);
    expect(updated.body.lastUpdatedAt > created.body.createdAt).toBe(true);
  });

  test('all JSON bodies use UTF-8', async () => {
    const userAlias = 'Åse 李 ⛳ e\u0301';
    for (const type of ['application/json', 'application/json; charset=utf-8', 'application/json; charset=UTF-8']) {
      const body = Buffer.from(JSON.stringify(bookingBody({ userAlias })), 'utf8');
      const response = await post(body, { 'Content-Type': type });
      expect(response.status).toBe(201);
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(response.body.userAlias).toBe(userAlias);
    }
    const latin1 = Buffer.from(JSON.stringify(bookingBody({ userAlias: 'Åse' })), 'latin1');
    expect(errorCodes(await post(latin1, { 'Content-Type': 'application/json' }))).toEqual(['ERR00003']);
    const otherCharset = await post(latin1, { 'Content-Type': 'application/json; charset=iso-8859-1' });
    expect(otherCharset.status).toBe(415);
  });

  test('the response has no externalBookingId and correlationId if the request has none', async () => {
    for (const fields of [{}, { externalBookingId: null, correlationId: null }]) {
      const { status, body } = await post(bookingBody(fields));
      expect(status).toBe(201);
      expect(body).not.toHaveProperty('externalBookingId');
      expect(body).not.toHaveProperty('correlationId');
    }
  });

  test('dates may have any zone and any number of fractional digits, and are returned in UTC with milliseconds', async () => {
    const { status, body } = await post(
      bookingBody({ startDate: '2041-03-01T10:00:00.123987654321+02:00', endDate: '2041-03-01T03:30:00-05:30' }),
    );
    expect(status).toBe(201);
    expect(body.startDate).toBe('2041-03-01T08:00:00.123Z');
    expect(body.endDate).toBe('2041-03-01T09:00:00.000Z');
  });

  test('an empty string for externalBookingId or correlationId counts as left out', async () => {
    const response = await post(bookingBody({ externalBookingId: '', correlationId: '' }));
    expect(response.status).toBe(201);
    expect(response.body).not.toHaveProperty('externalBookingId');
    expect(response.body).not.toHaveProperty('correlationId');
  });

  test.each([
    ['2047-01-01T10:00:00', '2047-01-01T10:00:00.000Z'],
    ['2047-01-01T10:00', '2047-01-01T10:00:00.000Z'],
    ['2047-01-01T10:00Z', '2047-01-01T10:00:00.000Z'],
    ['2047-01-01T10:00:00+0000', '2047-01-01T10:00:00.000Z'],
    ['2047-01-01T12:00:00.5+0200', '2047-01-01T10:00:00.500Z'],
    ['2047-01-01T10:00:00.1239999', '2047-01-01T10:00:00.123Z'],
    ['2047-01-01T11:59:60.7+02:00', '2047-01-01T10:00:00.700Z'],
  ])('the date-time %s is read as %s, because the zone and the seconds can be left out', async (text, instant) => {
    const response = await post(bookingBody({ startDate: text, endDate: text }));
    expect(response.body).toMatchObject({ startDate: instant, endDate: instant });
    // The other rows of this table book the same time.
    await system.call('DELETE', `/api/bookings/${response.body.id}`);
  });

  test('a startDate in the past is allowed if endDate is not in the past', async () => {
    const { status } = await post(
      bookingBody({
        bayId: 'bay-n1-09',
        startDate: '2020-01-01T00:00:00Z',
        endDate: new Date(Date.now() + 60_000).toISOString(),
      }),
    );
    expect(status).toBe(201);
  });

  test('startDate and endDate can be equal', async () => {
    const { startDate } = bookingBody();
    expect((await post(bookingBody({ startDate, endDate: startDate }))).status).toBe(201);
  });

  test('a booking may start when another one ends', async () => {
    const existing = bookingBody({ bayId: 'bay-n2-05' });
    const next = new Date(Date.parse(existing.endDate) + 3_600_000).toISOString();
    expect((await post(existing)).status).toBe(201);
    expect((await post({ ...existing, startDate: existing.endDate, endDate: next })).status).toBe(201);
  });

  test('unknown fields are ignored', async () => {
    const { status, body } = await post(bookingBody({ id: 'mine', version: 7, price: { amount: 1 } }));
    expect(status).toBe(201);
    expect(body.id).not.toBe('mine');
    expect(body).not.toHaveProperty('price');
  });

  test('strings may have 256 characters of any script', async () => {
    const userAlias = '⛳'.repeat(256);
    const externalBookingId = `é'";--`.padEnd(256, 'x');
    const { status, body } = await post(bookingBody({ userAlias, externalBookingId }));
    expect(status).toBe(201);
    expect(body.userAlias).toBe(userAlias);
  });

  test('the content type may be application/vnd.x+json with a charset', async () => {
    const { status } = await post(JSON.stringify(bookingBody()), {
      'Content-Type': 'application/vnd.x+json; charset="UTF-8"',
    });
    expect(status).toBe(201);
  });
});

describe('400 for an invalid request', () => {
  test.each(['bayId', 'userAlias', 'startDate', 'endDate'])("a missing '%s' returns ERR00001", async (field) => {
    for (const missing of [undefined, null]) {
      const response = await post({ ...bookingBody(), externalBookingId: 'ext-missing', [field]: missing });
      expect(response.status).toBe(400);
      expect(response.body).toEqual({
        errors: [
          {
            code: 'ERR00001',
            description: `'${field}' is mandatory.`,
            moreInfo: '',
            contextData: { externalBookingId: 'ext-missing', field },
          },
        ],
      });
    }
  });

  test('an empty object returns ERR00001 for each mandatory field, with externalBookingId ""', async () => {
    const { status, body } = await post({});
    expect(status).toBe(400);
    expect(body.errors.map(({ description }: { description: string }) => description)).toEqual([
      "'bayId' is mandatory.",
      "'userAlias' is mandatory.",
      "'startDate' is mandatory.",
      "'endDate' is mandatory.",
    ]);
    const fields = ['bayId', 'userAlias', 'startDate', 'endDate'];
    expect(body.errors.map(({ contextData }: { contextData: object }) => contextData)).toEqual(
      fields.map((field) => ({ externalBookingId: '', field })),
    );
  });

  test.each(['bayId', 'userAlias', 'startDate', 'endDate'])(
    'an empty string for the mandatory field %s counts as missing (ERR00001)',
    async (field) => {
      const response = await post(bookingBody({ [field]: '' }));
      expect(response.body.errors).toEqual([
        expect.objectContaining({ code: 'ERR00001', description: `'${field}' is mandatory.` }),
      ]);
    },
  );

  test.each([['x'.repeat(500)], ['bay\u0000'], ['bay\ud800'], [' bay-n1-01']])(
    'a bayId that cannot be the id of a bay returns ERR00012: %j',
    async (bayId) => expect(errorCodes(await post(bookingBody({ bayId })))).toEqual(['ERR00012']),
  );

  const invalid: [string, unknown][] = [
    ['bayId', 7],
    ['userAlias', { name: 'Ann' }],
    ['userAlias', 'Ann\u0000'],
    ['userAlias', 'Ann\n'],
    ['userAlias', 'Ann\u0085'],
    ['userAlias', 'Ann\ud800'],
    ['userAlias', 'x'.repeat(257)],
    ['externalBookingId', 42],
    ['externalBookingId', ['a']],
    ['correlationId', true],
    ['startDate', 1_893_456_000_000],
    ['startDate', '2040-01-01'],
    ['startDate', '2040-01-01 10:00:00Z'],
    ['startDate', '2040-02-30T10:00:00Z'],
    ['startDate', '2040-01-01T24:00:00Z'],
    ['startDate', '2039-12-31T23:59:61Z'],
    ['startDate', '0000-01-01T10:00:00Z'],
    ['startDate', 'now'],
    ['endDate', '+275760-09-13T00:00:00Z'],
    ['endDate', '9999-12-31T23:59:59-14:00'],
    ['endDate', '2040-01-01T10'],
  ];

  test.each(invalid)('an invalid %s returns ERR00002: %j', async (field, value) => {
    const response = await post({ ...bookingBody(), [field]: value });
    expect(response.status).toBe(400);
    expect(errorCodes(response)).toEqual(['ERR00002']);
    expect(response.body.errors[0].description).toBe(`'${field}' is invalid.`);
  });

  test.each([
    ['not JSON', '{"bayId":'],
    ['an array', '[]'],
    ['a string', '"bay"'],
    ['null', 'null'],
    ['empty', ''],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ])('a body that is %s returns ERR00003', async (_title, body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(errorCodes(response)).toEqual(['ERR00003']);
    expect(response.body.errors[0].contextData).toEqual({ externalBookingId: '' });
  });

  test('an endDate before startDate returns ERR00010', async () => {
    const { startDate, endDate } = bookingBody();
    const response = await post(bookingBody({ startDate: endDate, endDate: startDate }));
    expect(response.status).toBe(400);
    expect(errorCodes(response)).toEqual(['ERR00010']);
    expect(response.body.errors[0].description).toBe('EndDate cannot be before StartDate.');
  });

  test('an endDate in the past returns ERR00011', async () => {
    const endDate = new Date(Date.now() - 1_000).toISOString();
    const response = await post(bookingBody({ startDate: '2020-01-01T00:00:00Z', endDate }));
    expect(errorCodes(response)).toEqual(['ERR00011']);
    expect(response.body.errors[0].description).toBe('EndDate cannot be in the past.');
  });

  test.each(['bay-nowhere', 'bay-e1-01', "bay' or ''='"])(
    "a bayId of no bay of the token's facilities returns ERR00012: %s",
    async (bayId) => {
      const response = await post(bookingBody({ bayId }));
      expect(response.status).toBe(400);
      expect(errorCodes(response)).toEqual(['ERR00012']);
      expect(response.body.errors[0].description).toBe('No bay found with the given id.');
    },
  );

  test('an externalBookingId that another booking uses returns BOOK00001', async () => {
    expect((await post(bookingBody({ externalBookingId: 'ext-used' }))).status).toBe(201);
    const response = await post(bookingBody({ externalBookingId: 'ext-used' }));
    expect(response.status).toBe(400);
    expect(response.body.errors).toEqual([
      {
        code: 'BOOK00001',
        description: 'Another booking with the same external booking id already exists.',
        moreInfo: '',
        contextData: { externalBookingId: 'ext-used' },
      },
    ]);
  });

  test('BOOK00001 is reported together with every other error, but not to a token without facilities', async () => {
    const externalBookingId = 'ext-known';
    const body = bookingBody({ externalBookingId });
    expect((await post(body)).status).toBe(201);
    expect(errorCodes(await post({ ...body, bayId: 'no-such-bay' }))).toEqual(['ERR00012', 'BOOK00001']);
    expect(errorCodes(await post({ externalBookingId }))).toEqual([...Array(4).fill('ERR00001'), 'BOOK00001']);
    const dates = { startDate: '2021-01-02T00:00:00Z', endDate: '2021-01-01T00:00:00Z' };
    expect(errorCodes(await post({ ...dates, externalBookingId, bayId: 'no-such-bay' }))).toEqual([
      'ERR00001',
      'ERR00010',
      'ERR00011',
      'ERR00012',
      'BOOK00001',
    ]);
    expect(errorCodes(await post({ ...body, bayId: undefined }, { 'Idempotency-Key': ' ' }))).toEqual([
      'ERR00001',
      'ERR00002',
      'BOOK00001',
    ]);
    expect(errorCodes(await post({ externalBookingId: 'ext-unknown', bayId: 7 }))).not.toContain('BOOK00001');
    const token = await system.token([]);
    const withoutFacilities = await system.call('POST', '/api/bookings', { body, token });
    expect(errorCodes(withoutFacilities)).toEqual(['ERR00012']);
  });

  test('an externalBookingId that is used in a facility outside the token also returns BOOK00001', async () => {
    const east = await system.token(['fac-east']);
    const body = bookingBody({ bayId: 'bay-e1-01', externalBookingId: 'ext-east' });
    expect((await system.call('POST', '/api/bookings', { body, token: east })).status).toBe(201);
    expect(errorCodes(await post(bookingBody({ externalBookingId: 'ext-east' })))).toEqual(['BOOK00001']);
  });

  test('an interval that overlaps another booking returns BOOK00002', async () => {
    const existing = bookingBody({ bayId: 'bay-n2-04' });
    expect((await post(existing)).status).toBe(201);
    const [start, end] = [Date.parse(existing.startDate), Date.parse(existing.endDate)];
    for (const [from, to] of [
      [start, end],
      [start - 1, start + 1],
      [end - 1, end + 1],
      [start + 1, end - 1],
      [start - 1, end + 1],
      [start, start],
      [start + 1, start + 1],
    ] as const) {
      const body = { ...existing, startDate: new Date(from).toISOString(), endDate: new Date(to).toISOString() };
      const response = await post(body);
      expect(errorCodes(response)).toEqual(['BOOK00002']);
      expect(response.body.errors[0].description).toBe('The booking time overlaps another booking.');
      expect(response.text).not.toContain(existing.userAlias);
    }
  });

  test('a bay that cannot be booked returns BOOK00003', async () => {
    const response = await post(bookingBody({ bayId: 'bay-n1-99' }));
    expect(response.status).toBe(400);
    expect(errorCodes(response)).toEqual(['BOOK00003']);
    expect(response.body.errors[0].description).toBe('The bay is not available for booking.');
  });

  test('all errors that can be found are reported together, each in an entry of its own', async () => {
    expect(
      errorCodes(
        await post({ bayId: 'bay-nowhere', startDate: '2021-01-02T00:00:00Z', endDate: '2021-01-01T00:00:00Z' }),
      ),
    ).toEqual(['ERR00001', 'ERR00010', 'ERR00011', 'ERR00012']);
    const taken = bookingBody({ externalBookingId: 'ext-together' });
    expect((await post(taken)).status).toBe(201);
    expect(errorCodes(await post({ ...taken, userAlias: 5 }))).toEqual(['ERR00002', 'BOOK00001', 'BOOK00002']);
    expect(errorCodes(await post({ ...taken, userAlias: undefined, bayId: 'bay-n1-99' }))).toEqual([
      'ERR00001',
      'BOOK00001',
      'BOOK00003',
    ]);
  });

  test.each([
    ['2021-01-02T00:00:00Z', '2021-01-01T00:00:00Z'],
    ['2021-01-01T10:00:00.0009Z', '2021-01-01T10:00:00.0001Z'],
  ])('errors about the bay and the dates name their field: %s to %s', async (startDate, endDate) => {
    const dates = { startDate, endDate };
    const fieldsOf = ({ body }: { body: { errors: { code: string; contextData: { field?: string } }[] } }) =>
      body.errors.map(({ code, contextData: { field } }) => `${code} ${field}`);
    const expected = ['ERR00010 endDate', 'ERR00011 endDate', 'ERR00012 bayId'];
    const reservation = { ...bookingBody({ bayId: 'bay-nowhere' }), ...dates };
    const { body } = await post(bookingBody());
    const closure = { bayIds: ['bay-nowhere'], ...dates };
    const interval = `startDate=${dates.startDate}&endDate=${dates.endDate}`;
    const call = async (method: string, path: string, sent?: object) =>
      fieldsOf(await system.call(method, path, sent && { body: sent }));
    expect(fieldsOf(await post(reservation))).toEqual(expected);
    expect(await call('PUT', `/api/bookings/${body.id}`, reservation)).toEqual(expected);
    expect(await call('POST', '/api/booking-holds', reservation)).toEqual(expected);
    expect(await call('POST', '/api/booking-groups', { bookings: [reservation] })).toEqual(expected);
    expect(await call('POST', '/api/booking-closures', closure)).toEqual(['ERR00010 endDate', 'ERR00012 bayIds']);
    expect(await call('GET', `/api/booking-availability?bayIds=bay-n1-01&${interval}`)).toEqual(['ERR00010 endDate']);
    for (const list of ['bookings?', 'booking-closures?', 'booking-history?facilityId=fac-north&'])
      expect(await call('GET', `/api/${list}${interval}`)).toEqual(['ERR00002 endDate']);
  });

  test('a repeated request returns BOOK00001 before BOOK00002', async () => {
    const body = bookingBody({ externalBookingId: 'ext-twice' });
    expect((await post(body)).status).toBe(201);
    expect(errorCodes(await post(body))).toEqual(['BOOK00001', 'BOOK00002']);
  });

  test('the externalBookingId of a rejected booking can be used again', async () => {
    const existing = bookingBody();
    expect((await post(existing)).status).toBe(201);
    expect((await post({ ...existing, externalBookingId: 'ext-free' })).status).toBe(400);
    expect((await post(bookingBody({ externalBookingId: 'ext-free' }))).status).toBe(201);
  });
});

describe('the size of a body', () => {
  test('a body larger than 100 kB returns 413', async () => {
    const response = await post(bookingBody({ note: 'x'.repeat(100_001) }));
    expect(response.status).toBe(413);
    expect(errorCodes(response)).toEqual(['ERR00413']);
    expect((await post(bookingBody({ note: 'x'.repeat(90_000) }))).status).toBe(201);
  });
});

describe('the media type of a body', () => {
  test.each(['text/plain', 'application/json; charset=utf-16', 'multipart/form-data'])(
    'a body of the type %s returns 415',
    async (type) => {
      const response = await post(JSON.stringify(bookingBody()), { 'Content-Type': type });
      expect(response.status).toBe(415);
      expect(errorCodes(response)).toEqual(['ERR00415']);
    },
  );

  test('a JSON object that curl -d sends with the type of a form is read as JSON, a form returns 415', async () => {
    const send = (body: string) => post(body, { 'Content-Type': 'application/x-www-form-urlencoded' });
    expect((await send(` ${JSON.stringify(bookingBody())}`)).status).toBe(201);
    expect(errorCodes(await send('{"bayId":'))).toEqual(['ERR00003']);
    expect(errorCodes(await send('bayId=bay-n1-01&userAlias=Ann'))).toEqual(['ERR00415']);
  });

  test('a body with an unknown Content-Encoding returns 415', async () => {
    const response = await post(JSON.stringify(bookingBody()), { 'Content-Encoding': 'zstd-ish' });
    expect(response.status).toBe(415);
  });
});
