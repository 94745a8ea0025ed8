// Tests which scopes allow which requests, GET /api/me, STEP_UP, the audit lines of the log, and that a token reveals
// nothing about facilities that it does not name (docs/behaviour.md, "Tenancy").
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { useTestSystem } from './support/test-system.ts';

const system = useTestSystem();

describe('tenancy', () => {
  // In fac-north, the tests use the location loc-north-1, which has the bays bay-n1-01 to bay-n1-10, and bay-n1-99,
  // which is not bookable. fac-east has one location with the bays bay-e1-01 to bay-e1-03.
  /** A token for fac-east only. It does not name the facility of `booking`, which is fac-north. */
  let otherToken: string;
  let booking: { id: string; bayId: string; startDate: string; endDate: string; externalBookingId: string };
  let etag: string;
  const missing = { id: '01900000-0000-7000-8000-000000000000', bayId: 'bay-nowhere' };

  beforeAll(async () => {
    otherToken = await system.token(['fac-east']);
    const ids = { bayId: 'bay-n1-01', externalBookingId: 'ext-north', correlationId: 'session-north' };
    const response = await system.call('POST', '/api/bookings', { body: bookingBody(ids) });
    booking = response.body;
    etag = response.headers.etag as string;
  });

  const callFromOtherFacility = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    system.call(method, path, { token: otherToken, headers, ...(body !== undefined && { body }) });
  /** The parts of a response that must not depend on whether a resource exists. */
  const visiblePartsOf = ({ status, text, headers: { etag, allow } }: Response) => ({ status, text, etag, allow });

  test('a booking of another facility and one that does not exist get the same response to every request', async () => {
    const requests: [string, unknown, Record<string, string>][] = [
      ['GET', undefined, {}],
      ['HEAD', undefined, {}],
      ['GET', undefined, { 'If-None-Match': '*' }],
      ['PUT', bookingBody({ bayId: 'bay-e1-01' }), {}],
      ['PUT', bookingBody({ bayId: 'bay-n1-01' }), {}],
      ['PUT', {}, {}],
      ['PUT', bookingBody({ bayId: 'bay-e1-01' }), { 'If-Match': etag }],
      ['PUT', bookingBody({ bayId: 'bay-e1-01' }), { 'If-Match': '"other"' }],
      ['DELETE', undefined, {}],
      ['DELETE', undefined, { 'If-Match': '"other"' }],
    ];
    for (const [method, body, headers] of requests) {
      const ofExisting = await callFromOtherFacility(method, `/api/bookings/${booking.id}`, body, headers);
      const ofMissing = await callFromOtherFacility(method, `/api/bookings/${missing.id}`, body, headers);
      expect(ofExisting.status).toBe(404);
      expect(visiblePartsOf(ofExisting)).toEqual(visiblePartsOf(ofMissing));
    }
    expect((await system.call('GET', `/api/bookings/${booking.id}`)).headers.etag).toBe(etag);
  });

  test('a bay of another facility gets ERR00012, whether it is free and bookable or not', async () => {
    const own = await callFromOtherFacility('POST', '/api/bookings', bookingBody({ bayId: 'bay-e1-02' }));
    // The bays are one that is taken, one that is free, one that is not bookable, and one that does not exist.
    for (const bayId of [booking.bayId, 'bay-n1-02', 'bay-n1-99', missing.bayId]) {
      const { startDate, endDate } = booking;
      const post = (userAlias: unknown) =>
        callFromOtherFacility('POST', '/api/bookings', { bayId, userAlias, startDate, endDate });
      expect(errorCodes(await post('Eve'))).toEqual(['ERR00012']);
      expect(errorCodes(await post(7))).toEqual(['ERR00002', 'ERR00012']);
      const change = { bayId, userAlias: 'Eve', startDate, endDate };
      const moved = await callFromOtherFacility('PUT', `/api/bookings/${own.body.id}`, change);
      expect(errorCodes(moved)).toEqual(['ERR00012']);
    }
    await callFromOtherFacility('DELETE', `/api/bookings/${own.body.id}`);
  });

  test('lists omit bookings, locations and bays of other facilities for every filter', async () => {
    const paths = [
      '/api/bookings',
      `/api/bookings?ids=${booking.id}`,
      '/api/bookings?externalBookingIds=ext-north',
      '/api/bookings?correlationIds=session-north',
      '/api/bookings?bayIds=bay-n1-01',
      '/api/bookings?locationIds=loc-north-1',
      '/api/bookings?locationIds=loc-north-1,loc-east-1&isActive=true',
      '/api/bookings?userAlias=Ann',
      `/api/bookings?startDate=${booking.startDate}&endDate=${booking.endDate}`,
      '/api/booking-locations?ids=loc-north-1',
      '/api/booking-locations?facilityIds=fac-north',
      '/api/booking-bays?locationId=loc-north-1',
    ];
    for (const path of paths)
      expect((await callFromOtherFacility('GET', path)).body).toMatchObject({ items: [], total: 0, pageCount: 0 });
    expect((await callFromOtherFacility('GET', '/api/booking-locations')).body.total).toBe(1);
    expect((await callFromOtherFacility('GET', '/api/booking-bays')).body.total).toBe(3);
  });

  test('a client that has lost access to a facility does not get a stored response about this facility', async () => {
    const body = bookingBody({ bayId: 'bay-n1-05' });
    const headers = { 'Idempotency-Key': 'key-2' };
    // Both requests have tokens of the same client and user. The token of the second request names only fac-east.
    expect((await system.call('POST', '/api/bookings', { body, headers })).status).toBe(201);
    expect(errorCodes(await callFromOtherFacility('POST', '/api/bookings', body, headers))).toEqual(['ERR00012']);
  });

  test('BOOK00001 for an externalBookingId of another facility reveals nothing else', async () => {
    const contextData = { externalBookingId: 'ext-north' };
    const body = bookingBody({ bayId: 'bay-e1-03', ...contextData });
    const response = await callFromOtherFacility('POST', '/api/bookings', body);
    const description = 'Another booking with the same external booking id already exists.';
    expect(response.body.errors).toEqual([{ code: 'BOOK00001', description, moreInfo: '', contextData }]);
  });
});

const base = 'https://bay-booking.example/golf/';
const scopes = ['bookings.read', 'bookings', 'schedule'] as const;
type Scope = (typeof scopes)[number];

const tokenWith = (scope: string) => system.token(['fac-north'], { scope: `openid ${base}${scope}` });
const hours = { weekly: { monday: [{ opens: '07:00', closes: '22:00' }] } };

// The first scope is the one that the challenge names.
test.each<[Scope[], string, string]>([
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/bookings'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/booking-groups/any'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/bookings/any'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/booking-changes'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/booking-locations'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/booking-bays'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/bays/any/upcoming-bookings'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/booking-availability'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/booking-locations/loc-north-1/opening-hours'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/booking-closures'],
  [['bookings.read', 'bookings', 'schedule'], 'GET', '/api/me'],
  [['bookings'], 'POST', '/api/bookings'],
  [['bookings'], 'POST', '/api/booking-groups'],
  [['bookings'], 'DELETE', '/api/booking-groups/any'],
  [['bookings'], 'PUT', '/api/bookings/any'],
  [['bookings'], 'DELETE', '/api/bookings/any'],
  [['bookings'], 'POST', '/api/booking-holds'],
  [['bookings'], 'GET', '/api/booking-holds/any'],
  [['bookings'], 'POST', '/api/webhooks'],
  [['bookings'], 'GET', '/api/webhooks'],
  [['schedule'], 'PUT', '/api/booking-locations/any/opening-hours'],
  [['schedule'], 'DELETE', '/api/booking-locations/any/opening-hours'],
  [['schedule'], 'POST', '/api/booking-closures'],
  [['schedule'], 'PUT', '/api/booking-bays/any'],
  [['schedule'], 'PUT', '/api/booking-closures/any'],
  [['schedule'], 'DELETE', '/api/booking-closures/any'],
])('only the scopes %j allow %s %s, and without a token it returns 401', async (allowed, method, path) => {
  const body = method === 'GET' ? {} : { body: {} };
  expect((await system.call(method, path, { token: null, ...body })).status).toBe(401);
  for (const scope of scopes) {
    const response = await system.call(method, path, { token: await tokenWith(scope), ...body });
    expect([scope, response.status === 403]).toEqual([scope, !allowed.includes(scope)]);
    if (response.status !== 403) continue;
    expect(response.headers['www-authenticate']).toContain(`error="insufficient_scope", scope="${base}${allowed[0]}"`);
  }
});

test('an erasure needs the scopes golf/bookings and golf/schedule, and the challenge names those that the token lacks', async () => {
  const [read, write, schedule] = scopes.map((scope) => base + scope);
  const ask = async (...granted: unknown[]) => {
    const token = await system.token(['fac-north'], { scope: granted.join(' ') });
    const body = { userAlias: 'Nobody' };
    const { status, headers } = await system.call('POST', '/api/booking-erasures', { token, body });
    return [status, /scope="([^"]*)"/.exec(headers['www-authenticate'] ?? '')?.[1]];
  };
  expect(await ask(write, schedule)).toEqual([200, undefined]);
  expect(await ask(schedule)).toEqual([403, write]);
  expect(await ask(write)).toEqual([403, schedule]);
  expect(await ask(read)).toEqual([403, `${write} ${schedule}`]);
});

test('each operation of the OpenAPI document lists the scopes that allow it', async () => {
  const { paths } = (await system.call('GET', '/openapi.json', { token: null })).body;
  const scopesOfOperation = (path: string, method: string) =>
    paths[path][method].security.flatMap(({ clientCredentials = [] }) => clientCredentials);
  expect(scopesOfOperation('/api/bookings', 'get')).toEqual(scopes.map((scope) => base + scope));
  expect(scopesOfOperation('/api/bookings', 'post')).toEqual([`${base}bookings`]);
  expect(scopesOfOperation('/api/booking-closures', 'post')).toEqual([`${base}schedule`]);
  const [first] = paths['/api/booking-erasures'].post.security;
  expect(first).toEqual({ clientCredentials: [`${base}bookings`, `${base}schedule`] });
});

test('the feed rejects a token without facilities with a challenge of its scheme', async () => {
  const response = await system.call('GET', '/api/booking-changes', { token: await system.token([]) });
  expect(response.status).toBe(403);
  const challenge = /^Bearer realm="bay-booking", resource_metadata="[^"]+", error="insufficient_scope"$/;
  expect(response.headers['www-authenticate']).toMatch(challenge);
});

test('GET /api/me describes the token, and leaves out facilities that do not exist', async () => {
  const exp = Math.floor(Date.UTC(2099, 0, 1) / 1000);
  const claims = { client_id: 'demo-pat-north', sub: 'acc-bot', scope: `openid ${base}bookings.read`, exp };
  const token = await system.token(['fac-south', 'fac-nowhere', 'fac-north'], claims);
  const { body } = await system.call('GET', '/api/me', { token });
  expect(body).toEqual({
    clientId: 'demo-pat-north',
    subject: 'acc-bot',
    scopes: ['openid', `${base}bookings.read`],
    facilities: [
      { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen' },
      { id: 'fac-south', name: 'South Range', timeZone: 'America/New_York' },
    ],
    expiresAt: '2099-01-01T00:00:00.000Z',
    _links: { self: { method: 'GET', href: 'https://bookings.example/api/me' } },
  });
  expect((await system.call('GET', '/api/me', { token: await system.token([]) })).body.facilities).toEqual([]);
});

test('closures and opening hours write one audit line for each change, and the access log names the caller', async () => {
  const claims = { client_id: 'client-audit', sub: 'acc-audit', scope: `${base}schedule` };
  const token = await system.token(['fac-north', 'fac-south'], claims);
  const begin = system.logged.length;
  const send = (method: string, path: string, body?: object, headers = {}) =>
    system.call(method, path, { token, headers, ...(body && { body }) });
  const closure = (bayId: string) => {
    const { startDate, endDate } = bookingBody();
    return { bayIds: [bayId], startDate, endDate };
  };
  const body = closure('bay-n1-01');
  const key = { 'Idempotency-Key': 'audited' };
  const created = await send('POST', '/api/booking-closures', body, key);
  // A repeated request and refused requests change nothing.
  expect((await send('POST', '/api/booking-closures', body, key)).status).toBe(201);
  expect((await send('POST', '/api/booking-closures', {})).status).toBe(400);
  const { id } = created.body;
  await send('PUT', `/api/booking-closures/${id}`, closure('bay-s1-01'));
  await send('DELETE', `/api/booking-closures/${id}`);
  const hoursPath = '/api/booking-locations/loc-north-1/opening-hours';
  expect((await send('PUT', hoursPath, hours)).status).toBe(200);
  expect((await send('PUT', hoursPath, hours, { 'If-Match': '"other"' })).status).toBe(412);
  await send('DELETE', hoursPath);
  const lines = system.logged.slice(begin).map((line) => JSON.parse(line));
  const caller = { clientId: 'client-audit', subject: 'acc-audit' };
  expect(lines.filter(({ audit }) => audit)).toMatchObject([
    { audit: true, action: 'closure.created', ...caller, facilityIds: ['fac-north'], target: id },
    { audit: true, action: 'closure.updated', ...caller, facilityIds: ['fac-north', 'fac-south'], target: id },
    { audit: true, action: 'closure.deleted', ...caller, facilityIds: ['fac-south'], target: id },
    { audit: true, action: 'opening-hours.updated', ...caller, facilityIds: ['fac-north'], target: 'loc-north-1' },
    { audit: true, action: 'opening-hours.deleted', ...caller, facilityIds: ['fac-north'], target: 'loc-north-1' },
  ]);
  const requests = lines.filter(({ msg }) => msg === 'request');
  expect(requests.length).toBeGreaterThan(5);
  for (const request of requests) expect(request).toMatchObject(caller);
});

describe('STEP_UP=schedule: changes of the schedule need a recent sign-in of the user with two factors (RFC 9470)', () => {
  const strict = useTestSystem({ sharing: system, config: { stepUp: 'schedule' } });

  const scope = 'https://bay-booking.example/golf/schedule https://bay-booking.example/golf/bookings';
  const path = '/api/booking-locations/loc-north-1/opening-hours';
  const body = { weekly: { monday: [{ opens: '07:00', closes: '22:00' }] } };
  const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;
  const tokenOf = (claims: Record<string, unknown>, of = strict) => of.token(['fac-north'], { scope, ...claims });

  test.each([
    ['one factor', { amr: ['pwd'], auth_time: secondsAgo(5) }],
    ['an old sign-in', { amr: ['pwd', 'otp', 'mfa'], auth_time: secondsAgo(3_700) }],
    ['no methods', { grant_id: 'g-1' }],
  ])('a token of a user with %s is challenged', async (_name, claims) => {
    const token = await tokenOf(claims);
    for (const [method, at] of [
      ['PUT', path],
      ['DELETE', path],
      ['POST', '/api/booking-closures'],
      ['DELETE', '/api/booking-closures/any'],
    ]) {
      const response = await strict.call(String(method), String(at), { token, ...(method !== 'DELETE' && { body }) });
      expect(response.status).toBe(401);
      const challenge = /^Bearer .*error="insufficient_user_authentication".*acr_values="2", max_age="3600"$/;
      expect(response.headers['www-authenticate']).toMatch(challenge);
    }
    expect((await strict.call('GET', path, { token })).status).toBe(200);
  });

  test('two factors within an hour, and tokens of programs, pass', async () => {
    for (const claims of [{ amr: ['pop', 'mfa'], auth_time: secondsAgo(3_500), grant_id: 'g-1' }, {}]) {
      expect((await strict.call('PUT', path, { token: await tokenOf(claims), body })).status).toBe(200);
    }
  });

  test('without STEP_UP, nothing is challenged', async () => {
    const token = await tokenOf({ amr: ['pwd'], auth_time: secondsAgo(5_000) }, system);
    expect((await system.call('PUT', path, { token, body })).status).toBe(200);
  });
});
