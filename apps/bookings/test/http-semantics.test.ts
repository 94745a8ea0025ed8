// Tests the behaviour that all endpoints share: methods, strict handling, content negotiation, headers, CORS, request
// ids, rate limits, the errors of every endpoint, readiness, and a BASE_URL with a path (docs/behaviour.md, "Status
// codes").
import { errorEnvelopeSchema } from '@bay-booking/common/errors';
import { query } from '@bay-booking/service/database/database';
import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Response } from 'supertest';
import { respondToMalformed } from '../src/http/response.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { createExtraSystem, useTestSystem } from './support/test-system.ts';

const system = useTestSystem();

/** The methods of each path. No booking has the id of the second path. */
const paths = {
  '/api/bookings': ['POST', 'GET', 'HEAD'],
  '/api/bookings/01900000-0000-7000-8000-000000000000': ['GET', 'PUT', 'DELETE', 'HEAD'],
  '/api/booking-locations': ['GET', 'HEAD'],
  '/api/booking-locations/loc-north-1': ['GET', 'HEAD'],
  '/api/booking-bays': ['GET', 'HEAD'],
  '/api/bays/bay-n1-01/upcoming-bookings': ['GET', 'HEAD'],
};

test.each(['/api', '/api/booking', '/api/bookings/a/b', '/nothing', '/%zz'])(
  'the path %s without a route returns 404',
  async (path) => {
    const response = await system.call('GET', path);
    expect(response.status).toBe(404);
    expect(response.body).toEqual({
      errors: [{ code: 'ERR00404', description: 'Not found.', moreInfo: '', contextData: expect.anything() }],
    });
  },
);

describe.each(Object.entries(paths))('%s', (path, methods) => {
  test('every other method returns 405 with Allow', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !methods.includes(method))) {
      const response = await system.call(method, path);
      expect(errorCodes(response)).toEqual(['ERR00405']);
      expect(response.headers.allow).toBe([...methods, 'OPTIONS'].join(', '));
    }
  });

  test('OPTIONS returns 204 with Allow, and allows any origin without credentials and without a token', async () => {
    const response = await system.call('OPTIONS', path, {
      token: null,
      headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'PUT' },
    });
    expect(response.status).toBe(204);
    expect(response.headers.allow).toBe([...methods, 'OPTIONS'].join(', '));
    expect(response.headers['access-control-allow-origin']).toBe('*');
    expect(response.headers['access-control-allow-credentials']).toBeUndefined();
    expect(response.headers['access-control-allow-methods']).toBe([...methods, 'OPTIONS'].join(', '));
    for (const name of ['Authorization', 'Content-Type', 'Idempotency-Key', 'If-Match', 'If-None-Match'])
      expect(response.headers['access-control-allow-headers']).toContain(name);
  });

  test('HEAD returns the status and the length of GET, without a body', async () => {
    const [get, head] = [await system.call('GET', path), await system.call('HEAD', path)];
    expect(head.status).toBe(get.status);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
    expect(head.text).toBeFalsy();
  });
});

test.each(['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs'])(
  '%s returns 405 with Allow for every method except GET and HEAD',
  async (path) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await system.call(method, path, { token: null });
      expect(errorCodes(response)).toEqual(['ERR00405']);
      expect(response.headers.allow).toBe('GET, HEAD, OPTIONS');
    }
    for (const method of ['GET', 'HEAD']) expect((await system.call(method, path, { token: null })).status).toBe(200);
  },
);

describe('Prefer: handling=strict', () => {
  const strict = { Prefer: 'handling=strict' };
  test('an unknown query parameter or body field gets ERR00002, and is ignored without the preference', async () => {
    expect((await system.call('GET', '/api/bookings?bayId=bay-n1-01')).status).toBe(200);
    // `ids[0]` is a valid notation of the parameter `ids`.
    const search = await system.call('GET', '/api/bookings?bayId=bay-n1-01&ids[0]=a', { headers: strict });
    expect(search.status).toBe(400);
    expect(search.body.errors).toMatchObject([{ code: 'ERR00002', description: "'bayId' is not known." }]);
    // Every object of JavaScript has the second name.
    const unknown = { colour: 'red', constructor: 'x' };
    const descriptions = Object.keys(unknown).map((name) => ({ description: `'${name}' is not known.` }));
    const [body, inGroup] = [1, 2].map(() => ({ ...bookingBody(), ...unknown }));
    const created = await system.call('POST', '/api/bookings', { body, headers: strict });
    expect(created.body.errors).toMatchObject(descriptions);
    const group = await system.call('POST', '/api/booking-groups', { body: { bookings: [inGroup] }, headers: strict });
    expect(group.body.errors).toMatchObject(descriptions);
    expect((await system.call('GET', '/api/booking-locations/loc-north-1?x=1', { headers: strict })).status).toBe(400);
  });

  test('an unknown field inside a field is named with its path', async () => {
    const monday = [{ opens: '01:00', closes: '02:00', toString: 1 }];
    const exceptions = [{ date: '2050-01-01', hours: [], zz: 1 }];
    const response = await system.call('PUT', '/api/booking-locations/loc-south-1/opening-hours', {
      body: { weekly: { monday }, exceptions },
      headers: strict,
    });
    expect(response.body.errors).toMatchObject([
      { description: "'toString' is not known.", contextData: { field: 'weekly.monday[0].toString' } },
      { description: "'zz' is not known.", contextData: { field: 'exceptions[0].zz' } },
    ]);
  });

  test('every resource that GET returned can be sent back', async () => {
    const { call } = system;
    const hours = '/api/booking-locations/loc-south-1/opening-hours';
    await call('PUT', hours, { body: { weekly: { monday: [{ opens: '00:00', closes: '00:00' }] } } });
    const bookings = [bookingBody({ externalBookingId: 'sent-back', correlationId: 'c' })];
    const times = { startDate: '2050-01-01T10:00:00Z', endDate: '2050-01-01T11:00:00Z' };
    const created = await Promise.all([
      call('POST', '/api/bookings', { body: bookingBody({ correlationId: 'c', metadata: { a: 'b' } }) }),
      call('POST', '/api/booking-groups', { body: { bookings } }),
      call('POST', '/api/booking-closures', { body: { bayIds: ['bay-n1-01'], ...times } }),
      call('POST', '/api/webhooks', { body: { url: 'https://receiver.example/hook' } }),
    ]);
    for (const path of [hours, ...created.map(({ headers }) => new URL(headers.location as string).pathname)]) {
      const found = await call('GET', path);
      const { etag = '' } = found.headers;
      const sent = await call('PUT', path, { body: found.body, headers: { ...strict, 'If-Match': etag } });
      expect([path, sent.status, sent.body.errors]).toEqual([path, 200, undefined]);
    }
    const hold = await call('POST', '/api/booking-holds', { body: { bayId: 'bay-n1-02', ...times } });
    const extended = { body: { ...hold.body, holdSeconds: 60 }, headers: strict };
    expect((await call('PUT', `/api/booking-holds/${hold.body.id}`, extended)).status).toBe(200);
    await call('DELETE', hours);
  });

  test.each(['handling=strict', 'HANDLING=Strict', 'wait=5, handling="strict"', 'handling=strict; a=b'])(
    'Prefer: %s is strict, and Preference-Applied is handling=strict',
    async (prefer) => {
      const response = await system.call('GET', '/api/bookings?colour=red', { headers: { Prefer: prefer } });
      expect(response.status).toBe(400);
      expect(response.headers['preference-applied']).toBe('handling=strict');
    },
  );

  test.each(['a', 'a='])('a Prefer header with %s and many spaces is parsed in linear time', async (start) => {
    const headers = { Prefer: `${start}${' '.repeat(100_000)}"` };
    const startedAt = performance.now();
    expect((await system.call('GET', '/api/bookings', { headers })).status).toBe(200);
    // A regular expression with quadratic time would take more than 10 s.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test.each(['handling=lenient', 'handling', '=,;', 'respond-async'])('Prefer: %s is not strict', async (prefer) => {
    const response = await system.call('GET', '/api/bookings?colour=red', { headers: { Prefer: prefer } });
    expect(response.status).toBe(200);
  });
});

describe('JSON types', () => {
  test.each([
    'application/hal+json',
    'text/json',
    'application/*',
    'application/vnd.api+json;q=0.5',
    '*/*',
    'text/html, application/json;q=0.1',
    'application/json; charset=utf-8',
  ])('a response with application/json satisfies Accept: %s', async (accept) => {
    const { status, headers } = await system.call('GET', '/api/bookings', { headers: { Accept: accept } });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test.each(['application/hal+json', 'text/json', 'application/merge-patch+json; charset=utf-8'])(
    'a body of the type %s is read as JSON',
    async (type) => {
      const body = JSON.stringify(bookingBody());
      const response = await system.call('POST', '/api/bookings', { body, headers: { 'Content-Type': type } });
      expect(response.status).toBe(201);
    },
  );

  test('a body without a content type is read as JSON', async () => {
    const response = await fetch(`${system.url}/api/bookings`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${await system.token(['fac-north'])}` },
      body: new Blob([JSON.stringify(bookingBody())]),
    });
    expect(response.status).toBe(201);
  });
});

test.each(['text/html', 'application/xml, text/*;q=0.5', 'application/json;q=0'])(
  'Accept: %s returns 406',
  async (accept) => {
    const response = await system.call('GET', '/api/bookings', { headers: { Accept: accept } });
    expect(errorCodes(response)).toEqual(['ERR00406']);
  },
);

test('any origin can read every response, which forbids framing, MIME sniffing and rendering as a document', async () => {
  const responses = [
    await system.call('GET', '/api/bookings'),
    await system.call('GET', '/api/bookings', { token: null }),
    await system.call('POST', '/api/bookings', { body: {} }),
    await system.call('GET', '/nothing'),
  ];
  for (const { headers } of responses) {
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'content-type': 'application/json; charset=utf-8',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    for (const name of ['Location', 'ETag', 'Link', 'X-Request-Id', 'Retry-After', 'RateLimit'])
      expect(headers['access-control-expose-headers']?.split(', ')).toContain(name);
    expect(headers['x-powered-by']).toBeUndefined();
  }
  const caching = responses.map(({ headers }) => headers['cache-control']);
  expect(caching).toEqual(['private, no-cache', 'no-store', 'no-store', 'no-store']);
});

describe('429 for too many requests', () => {
  test('RATE_LIMIT_PER_MINUTE limits each client over all instances, with RateLimit headers', async () => {
    const start = () => createExtraSystem({ sharing: system, config: { rateLimitPerMinute: 5 } });
    const [firstInstance, secondInstance] = [await start(), await start()];
    const token = await system.token(['fac-north'], { client_id: 'busy-client' });
    const responses = [];
    for (let count = 0; count < 8; count += 1)
      responses.push(await (count % 2 ? firstInstance : secondInstance).call('GET', '/api/bookings', { token }));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    expect(responses.map(({ headers }) => Number(headers['ratelimit-remaining']))).toEqual([4, 3, 2, 1, 0, 0, 0, 0]);
    expect(responses[0]?.headers).toMatchObject({
      'ratelimit-policy': '"client";q=5;w=60',
      ratelimit: expect.stringMatching(/^"client";r=4;t=\d+$/),
      'ratelimit-limit': '5',
      'ratelimit-reset': expect.stringMatching(/^\d+$/),
    });
    const rejected = responses.at(-1) as Response;
    expect(errorCodes(rejected)).toEqual(['ERR00429']);
    expect(rejected.body.errors[0].moreInfo).toMatch(/Try again in \d+ s\./);
    expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(0);
    const other = await system.token(['fac-north'], { client_id: 'quiet-client' });
    expect((await firstInstance.call('GET', '/api/bookings', { token: other })).status).toBe(200);
    expect((await firstInstance.call('GET', '/api/bookings', { token: null })).status).toBe(401);
  });

  test('RATE_LIMIT_PER_MINUTE limits each pair of client and sub, and a client has ten times that limit', async () => {
    const limited = await createExtraSystem({ sharing: system, config: { rateLimitPerMinute: 2 } });
    const statuses: number[] = [];
    for (let subject = 0; subject < 12; subject += 1) {
      const token = await system.token(['fac-north'], { client_id: 'shared-client', sub: `subject-${subject}` });
      for (let count = 0; count < 3; count += 1)
        statuses.push((await limited.call('GET', '/api/bookings', { token })).status);
    }
    // Ten subjects make two requests each, and then the client is over its limit.
    expect(statuses.sort()).toEqual([...Array(20).fill(200), ...Array(16).fill(429)]);
  });

  test('requests of tokens without facilities do not use up the limit of a client', async () => {
    const limited = await createExtraSystem({ sharing: system, config: { rateLimitPerMinute: 2 } });
    const send = async (facilities: readonly string[], sub: string) => {
      const token = await system.token(facilities, { client_id: 'public-client', sub });
      return (await limited.call('GET', '/api/me', { token })).status;
    };
    for (let stranger = 0; stranger < 24; stranger += 1) expect(await send([], `stranger-${stranger % 12}`)).toBe(200);
    expect(await send([], 'stranger-0')).toBe(429);
    expect(await send(['fac-north'], 'member')).toBe(200);
  });

  test('by default no limit applies', async () => {
    expect((await system.call('GET', '/api/bookings')).headers['ratelimit-limit']).toBeUndefined();
  });
});

test.each([400, 408, 413, 431] as const)(
  '%i for a request that Node rejects has the error envelope and the headers of every error',
  (status) => {
    const { headers, body } = respondToMalformed(status);
    expect(new Ajv2020().validate(errorEnvelopeSchema, JSON.parse(body))).toBe(true);
    expect(JSON.parse(body).errors[0].code).toBe(`ERR00${status}`);
    expect(headers).toMatchObject({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-store' });
    expect(headers['X-Request-Id']).toMatch(/^[0-9a-f-]{36}$/);
  },
);

describe('503 and readiness', () => {
  test('while the database is unavailable, requests get 503 with Retry-After and no internal detail; then 200', async () => {
    const separate = await createExtraSystem();
    const booking = (await separate.call('POST', '/api/bookings', { body: bookingBody() })).body;
    const name = new URL(separate.databaseUrl).pathname.slice(1);
    await query(system.db, `alter database ${name} allow_connections false`);
    await query(system.db, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    const create = () =>
      separate.call('POST', '/api/bookings', { body: bookingBody({ externalBookingId: 'ext-away' }) });
    const responses = [
      await separate.call('GET', `/api/bookings/${booking.id}`),
      await separate.call('GET', '/api/bookings'),
      await create(),
      await separate.call('PUT', `/api/bookings/${booking.id}`, { body: bookingBody() }),
      await separate.call('DELETE', `/api/bookings/${booking.id}`),
      await separate.call('GET', '/api/booking-locations'),
    ];
    for (const response of responses) {
      expect(errorCodes(response)).toEqual(['ERR00503']);
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
      expect(response.text).not.toMatch(/select|insert|postgres|connect|terminat/i);
    }
    const ready = await separate.call('GET', '/health/ready');
    expect(ready.status).toBe(503);
    expect(ready.body.checks.database).not.toBe('ok');
    expect((await separate.call('GET', '/health/live')).status).toBe(200);
    await query(system.db, `alter database ${name} allow_connections true`);
    expect((await separate.call('GET', `/api/bookings/${booking.id}`)).status).toBe(200);
    expect((await create()).status).toBe(201);
  });
});

test('500 for an unexpected error has no internal details, and is 503 if the schema is older than the release', async () => {
  const separate = await createExtraSystem();
  await query(separate.db, 'alter table booking rename column user_alias to renamed');
  const response = await separate.call('GET', '/api/bookings');
  expect(response.status).toBe(500);
  const description = 'Something went wrong on our side.';
  const error = { code: 'ERR00500', description, moreInfo: '', contextData: { externalBookingId: '' } };
  expect(response.body).toEqual({ errors: [error] });
  // The SQLSTATE of a statement that names a column which does not exist.
  expect(separate.logged.join('')).toContain('42703');
  // The service reads the version of the schema from this table.
  await query(separate.db, 'delete from schema_migration');
  expect((await separate.call('GET', '/api/bookings')).status).toBe(503);
});

test('if BASE_URL has a path, links contain the path, and requests work with and without it', async () => {
  const instance = await createExtraSystem({ sharing: system, config: { baseUrl: 'https://example.org/range/v1' } });
  const locations = 'https://example.org/range/v1/api/booking-locations';
  for (const prefix of ['', '/range/v1']) {
    const { body } = await instance.call('GET', `${prefix}/api/booking-locations?ids=loc-north-1`);
    expect(body._links.self.href).toBe(`${locations}?ids=loc-north-1&page=1&pageSize=500`);
    expect(body.items[0]._links.self.href).toBe(`${locations}/loc-north-1`);
  }
});
