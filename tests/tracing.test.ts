// Tests that an OpenTelemetry collector receives the spans of a request. The spans must belong to the trace of the
// caller and contain no secrets.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bookOnce, getToken, startTestSystem, type TestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}
interface TracesDocument {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Span['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const spans: (Span & { readonly service: unknown })[] = [];
const attributeOf = (attributes: Span['attributes'], name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];
const collector = createServer(async (request, response) => {
  const { resourceSpans } = (await json(request)) as TracesDocument;
  for (const { resource, scopeSpans } of resourceSpans)
    for (const span of scopeSpans.flatMap((scope) => scope.spans))
      spans.push({ ...span, service: attributeOf(resource.attributes, 'service.name') });
  response.setHeader('Content-Type', 'application/json').end('{}');
});
let system: TestSystem;
beforeAll(async () => {
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  system = await startTestSystem();
}, 90_000);
afterAll(async () => {
  await system?.stop();
  collector.close();
}, 60_000);

const tracing = (service: string) => ({
  NODE_OPTIONS: '--import @bay-booking/tracing/register',
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  OTEL_SERVICE_NAME: service,
});

test('spans of both services have routes and SQL without values, and belong to the trace of the caller', async () => {
  const auth = await system.startAuth({}, tracing('auth'));
  const bookings = await system.startBookings(tracing('bookings'));
  const token = await getToken(auth.base);
  expect(await bookOnce(bookings.base, token)).toBe(201);
  const traceId = 'a'.repeat(32);
  const listed = await fetch(`${bookings.base}/api/bookings?userAlias=somebody`, {
    headers: { Authorization: `Bearer ${token}`, traceparent: `00-${traceId}-${'b'.repeat(16)}-01` },
  });
  expect(listed.status).toBe(200);

  await eventually(async () => spans.some((span) => span.traceId === traceId && span.name.startsWith('pg.')));
  const ofRequest = spans.filter((span) => span.traceId === traceId);
  const request = ofRequest.find(({ parentSpanId }) => parentSpanId === 'b'.repeat(16));
  expect(request).toMatchObject({ service: 'bookings', name: 'GET /api/bookings' });
  const statement = ofRequest.find(({ attributes }) =>
    String(attributeOf(attributes, 'db.query.text')).includes('from booking'),
  );
  expect(statement?.traceId).toBe(traceId);
  await eventually(async () => spans.some(({ service, name }) => service === 'auth' && name === 'POST /connect/token'));
  await eventually(async () => bookings.log().some(({ status }) => status === 201));
  const createSpan = spans.find(({ name }) => name === 'POST /api/bookings');
  expect(createSpan?.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(bookings.log().find(({ status }) => status === 201)?.traceId).toBe(createSpan?.traceId);
  const text = JSON.stringify(spans);
  const secrets = ['demo-pat-north-secret', token, 'somebody'];
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
}, 60_000);
