// Tests the health checks, request ids and metrics of the Express application of a service.
import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createHttpApp, createMetricsApp } from '../src/http/app.ts';
import { type Check, createReadiness } from '../src/http/readiness.ts';
import { createLogger } from '../src/logging.ts';
import { createMetrics } from '../src/metrics.ts';

/** Creates an application with the route /things/:id. `lines` returns the parsed lines of its log. */
function createTestApp(checks: Record<string, Check> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const app = createHttpApp({
    logger: createLogger({ service: 'test', level: 'info', destination }),
    metrics: createMetrics('test'),
    readiness: createReadiness(checks),
  });
  app.get('/things/:id', (_request, response) => void response.json({}));
  return { app, lines: () => lines.map((line) => JSON.parse(line)) };
}

test('/health/ready returns 503 if a check times out', async () => {
  // This check never ends. The service waits 2 s for a check.
  const { app } = createTestApp({ database: () => new Promise(() => {}) });
  const { body } = await request(app).get('/health/ready').expect(503);
  expect(body.checks.database).toBe('no answer in time');
});

describe('X-Request-Id', () => {
  test('is returned, and logged together with the trace id and the path without its query', async () => {
    const { app, lines } = createTestApp();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const response = await request(app).get('/things/1?code=tell-tale').set({ 'X-Request-Id': 'abc-1', traceparent });
    expect(response.get('X-Request-Id')).toBe('abc-1');
    const [line] = lines();
    const ids = { requestId: 'abc-1', traceId: traceparent.split('-')[1] };
    expect(line).toMatchObject({ ...ids, path: '/things/1', route: '/things/:id', status: 200 });
    expect(JSON.stringify(line)).not.toContain('tell-tale');
  });

  test('is replaced by a UUID if it is too long', async () => {
    // A request id can have at most 128 characters.
    const { app } = createTestApp();
    const response = await request(app).get('/things/1').set('X-Request-Id', 'x'.repeat(129));
    expect(response.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

test('GET /metrics counts requests by route template and not by path', async () => {
  const { app } = createTestApp();
  await request(app).get('/things/1');
  await request(app).get('/things/2');
  const { text } = await request(app).get('/metrics').expect(200);
  const labels = 'service="test",method="GET",route="/things/:id",status="200"';
  expect(text).toContain(`http_request_duration_seconds_count{${labels}} 2`);
});

test.each(['/metrics/', '/METRICS', '/Metrics'])(
  '%s is not found, because a proxy may block only /metrics',
  async (path) => {
    const { app } = createTestApp();
    await request(app).get(path).expect(404);
    await request(createMetricsApp(createMetrics('test')))
      .get(path)
      .expect(404);
  },
);

test('GET /metrics counts the problems of responses by route and code', async () => {
  const { app, lines } = createTestApp();
  app.post('/things', (_request, response) => {
    // The function that sends the problems of a response stores their codes here.
    response.locals.codes = ['BOOK00002'];
    response.status(400).json({});
  });
  await request(app).post('/things');
  const { text } = await request(app).get('/metrics').expect(200);
  expect(text).toMatch(/http_problems_total\{method="POST",route="\/things",code="BOOK00002",service="test"\} 1/);
  expect(lines()[0]).toMatchObject({ problems: ['BOOK00002'] });
});
