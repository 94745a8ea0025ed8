// Tests POST /api/bookings (specification, "POST /api/bookings" and "Errors").
import { describe, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { baseUrl, useTestSystem } from './support/test-system.ts';

// The default token of the system permits fac-north and fac-south. The bay bay-e1-01 is in fac-east, and bay-n1-99 is
// not bookable (support/places.ts). Each call of `bookingBody` returns a body with another time, in 2040 or later.
const system = useTestSystem();

const post = (body: unknown, headers: Record<string, string> = {}) =>
  system.call('POST', '/api/bookings', { body, headers });
const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();

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

  test('dates may have any zone and any number of fractional digits, and are returned in UTC with milliseconds', async () => {
    const dates = { startDate: '2041-03-01T10:00:00.123987654321+02:00', endDate: '2041-03-01T03:30:00-05:30' };
    const utc = { startDate: '2041-03-01T08:00:00.123Z', endDate: '2041-03-01T09:00:00.000Z' };
    expect(await post(bookingBody(dates))).toMatchObject({ status: 201, body: utc });
  });

  test('an empty string for externalBookingId or correlationId counts as left out', async () => {
    const response = await post(bookingBody({ externalBookingId: '', correlationId: '' }));
    expect(response.status).toBe(201);
    expect(response.body).not.toHaveProperty('externalBookingId');
    expect(response.body).not.toHaveProperty('correlationId');
  });

  test('a startDate in the past is allowed if endDate is not in the past', async () => {
    const dates = { startDate: '2020-01-01T00:00:00Z', endDate: secondsAgo(-60) };
    expect((await post(bookingBody({ bayId: 'bay-n1-09', ...dates }))).status).toBe(201);
  });

  test('strings may have 256 characters of any script', async () => {
    const userAlias = '⛳'.repeat(256);
    const externalBookingId = `é'";--`.padEnd(256, 'x');
    const { status, body } = await post(bookingBody({ userAlias, externalBookingId }));
    expect(status).toBe(201);
    expect(body.userAlias).toBe(userAlias);
  });
});

describe('400 for an invalid request', () => {
  test('each mandatory field that is missing, null or empty returns ERR00001', async () => {
    const fields = ['bayId', 'userAlias', 'startDate', 'endDate'];
    for (const missing of [undefined, null, '']) {
      const externalBookingId = 'ext-missing';
      const body = Object.fromEntries(fields.map((field) => [field, missing]));
      const response = await post({ ...body, externalBookingId });
      expect(response.status).toBe(400);
      expect(response.body.errors).toEqual(
        fields.map((field) => ({
          code: 'ERR00001',
          description: `'${field}' is mandatory.`,
          moreInfo: '',
          contextData: { externalBookingId, field },
        })),
      );
    }
    expect((await post({})).body.errors[0].contextData).toEqual({ externalBookingId: '', field: 'bayId' });
  });

  // The tests of packages/common have the other texts and date-times.
  test.each([
    ['bayId', 7],
    ['userAlias', { name: 'Ann' }],
    ['userAlias', 'Ann\u0000'],
    ['userAlias', 'Ann\ud800'],
    ['userAlias', 'x'.repeat(257)],
    ['externalBookingId', ['a']],
    ['correlationId', true],
    ['startDate', 1_893_456_000_000],
    ['startDate', '2040-01-01'],
    ['startDate', '2040-01-01T24:00:00Z'],
    ['endDate', '9999-12-31T23:59:59-14:00'],
  ])('an invalid %s returns ERR00002: %j', async (field, value) => {
    const response = await post({ ...bookingBody(), [field]: value });
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
    expect(errorCodes(response)).toEqual(['ERR00003']);
    expect(response.body.errors[0].contextData).toEqual({ externalBookingId: '' });
  });

  test.each([
    ['ERR00010', 'EndDate cannot be before StartDate.', { endDate: '2035-01-01T00:00:00Z' }],
    ['ERR00011', 'EndDate cannot be in the past.', { startDate: '2020-01-01T00:00:00Z', endDate: secondsAgo(1) }],
    ['BOOK00003', 'The bay is not available for booking.', { bayId: 'bay-n1-99' }],
    ...['bay-nowhere', 'bay-e1-01', "bay' or ''='", 'x'.repeat(500), 'bay\u0000', 'bay\ud800', ' bay-n1-01'].map(
      (bayId) => ['ERR00012', 'No bay found with the given id.', { bayId }] as const,
    ),
  ])('%s: %s (%j)', async (code, description, fields) => {
    const response = await post(bookingBody(fields));
    expect(response.status).toBe(400);
    expect(response.body.errors).toMatchObject([{ code, description }]);
  });

  test('BOOK00001 is reported together with every other error, but not to a token without facilities', async () => {
    const externalBookingId = 'ext-known';
    const body = bookingBody({ externalBookingId });
    expect((await post(body)).status).toBe(201);
    expect(errorCodes(await post({ ...body, bayId: 'no-such-bay' }))).toEqual(['ERR00012', 'BOOK00001']);
    expect(errorCodes(await post({ externalBookingId }))).toEqual([...Array(4).fill('ERR00001'), 'BOOK00001']);
    const dates = { startDate: '2021-01-02T00:00:00Z', endDate: '2021-01-01T00:00:00Z' };
    const manyErrors = await post({ ...dates, externalBookingId, bayId: 'no-such-bay' });
    expect(errorCodes(manyErrors)).toEqual(['ERR00001', 'ERR00010', 'ERR00011', 'ERR00012', 'BOOK00001']);
    const badKey = await post({ ...body, bayId: undefined }, { 'Idempotency-Key': ' ' });
    expect(errorCodes(badKey)).toEqual(['ERR00001', 'ERR00002', 'BOOK00001']);
    expect(errorCodes(await post({ externalBookingId: 'ext-unknown', bayId: 7 }))).not.toContain('BOOK00001');
    const token = await system.token([]);
    expect(errorCodes(await system.call('POST', '/api/bookings', { body, token }))).toEqual(['ERR00012']);
  });

  test('an interval that overlaps another booking returns BOOK00002, which does not name the other user', async () => {
    const existing = bookingBody({ bayId: 'bay-n2-04' });
    expect((await post(existing)).status).toBe(201);
    const response = await post({ ...existing, userAlias: 'Bob', endDate: existing.startDate });
    const description = 'The booking time overlaps another booking.';
    expect(response.body.errors).toMatchObject([{ code: 'BOOK00002', description }]);
    expect(response.text).not.toContain(existing.userAlias);
  });

  test('errors about the bay and the dates name their field, also if the dates are in the same millisecond', async () => {
    const dates = { startDate: '2021-01-01T10:00:00.0009Z', endDate: '2021-01-01T10:00:00.0001Z' };
    const expected = ['ERR00010 endDate', 'ERR00011 endDate', 'ERR00012 bayId'];
    const reservation = bookingBody({ bayId: 'bay-nowhere', ...dates });
    const { body } = await post(bookingBody());
    const closure = { bayIds: ['bay-nowhere'], ...dates };
    const interval = `startDate=${dates.startDate}&endDate=${dates.endDate}`;
    const call = async (method: string, path: string, sent?: object) => {
      const { errors } = (await system.call(method, path, sent && { body: sent })).body;
      return (errors as { code: string; contextData: { field?: string } }[]).map(
        ({ code, contextData: { field } }) => `${code} ${field}`,
      );
    };
    expect(await call('POST', '/api/bookings', reservation)).toEqual(expected);
    expect(await call('PUT', `/api/bookings/${body.id}`, reservation)).toEqual(expected);
    expect(await call('POST', '/api/booking-holds', reservation)).toEqual(expected);
    expect(await call('POST', '/api/booking-groups', { bookings: [reservation] })).toEqual(expected);
    expect(await call('POST', '/api/booking-closures', closure)).toEqual(['ERR00010 endDate', 'ERR00012 bayIds']);
    expect(await call('GET', `/api/booking-availability?bayIds=bay-n1-01&${interval}`)).toEqual(['ERR00010 endDate']);
    for (const list of ['bookings?', 'booking-closures?', 'booking-history?facilityId=fac-north&'])
      expect(await call('GET', `/api/${list}${interval}`)).toEqual(['ERR00002 endDate']);
  });
});

test('a body larger than 100 kB returns 413', async () => {
  expect(errorCodes(await post(bookingBody({ note: 'x'.repeat(100_001) })))).toEqual(['ERR00413']);
  expect((await post(bookingBody({ note: 'x'.repeat(90_000) }))).status).toBe(201);
});

describe('the media type of a body', () => {
  test.each(['text/plain', 'application/json; charset=utf-16', 'multipart/form-data'])(
    'a body of the type %s returns 415',
    async (type) => {
      expect(errorCodes(await post(JSON.stringify(bookingBody()), { 'Content-Type': type }))).toEqual(['ERR00415']);
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

describe('MAX_BOOKING_HOURS and MAX_DAYS_AHEAD', () => {
  const now = () => new Date('2030-05-01T12:00:00Z');
  const limited = useTestSystem({ sharing: system, now, config: { maxBookingHours: 4, maxDaysAhead: 30 } });
  const bookingFrom = (startDate: string, endDate: string) => bookingBody({ bayId: 'bay-n2-01', startDate, endDate });
  const problemsOf = ({ body }: Response) =>
    body.errors.map((problem: Record<string, string>) => [problem.code, problem.description, problem.moreInfo]);
  const tooLong = ['ERR00002', "'endDate' is invalid.", 'endDate: a booking must not be longer than 4 hours'];
  const tooLate = ['ERR00002', "'endDate' is invalid.", 'endDate: a booking must not end later than 30 days from now'];

  test.each([
    ['that is longer', '2030-05-02T08:00:00Z', '2030-05-02T12:00:00.001Z', [tooLong]],
    ['that ends later', '2030-05-31T11:00:00Z', '2030-05-31T12:00:00.001Z', [tooLate]],
    ['that is longer and ends later', '2030-05-02T08:00:00Z', '9999-12-31T00:00:00Z', [tooLong, tooLate]],
  ])('a booking or hold %s gets ERR00002 with the limit in moreInfo', async (_title, start, end, problems) => {
    for (const path of ['/api/bookings', '/api/booking-holds']) {
      const response = await limited.call('POST', path, { body: bookingFrom(start, end) });
      expect(response.status).toBe(400);
      expect(problemsOf(response)).toEqual(problems);
    }
  });

  test('a booking can have the maximum length and the latest end, and the limits apply to updates', async () => {
    const longest = bookingFrom('2030-05-31T08:00:00Z', '2030-05-31T12:00:00Z');
    const { status, body } = await limited.call('POST', '/api/bookings', { body: longest });
    expect(status).toBe(201);
    const change = { ...longest, startDate: '2030-05-31T07:59:59Z' };
    expect(problemsOf(await limited.call('PUT', `/api/bookings/${body.id}`, { body: change }))).toEqual([tooLong]);
  });
});
