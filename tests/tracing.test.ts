// Tests that an OpenTelemetry collector receives the spans of requests to both services. The spans must belong to the
// trace of the caller and contain no secrets.
import { json } from 'node:stream/consumers';
import { useFixture } from '@bay-booking/testkit/fixture';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { eventually } from '@bay-booking/testkit/wait';
import { startWebhookReceiver, type WebhookReceiver } from '@bay-booking/testkit/webhook-receiver';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { callApi } from './support/api.ts';
import type { Instance } from './support/instance.ts';
import { bookOnce, getToken, startTestSystem } from './support/test-system.ts';
import { webhookEnvironment } from './support/webhook-receiver.ts';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** The body of a request to the collector: the spans of each service, grouped by the library that created them. */
interface TracesDocument {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Span['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const spans: (Span & { readonly service: unknown })[] = [];
/** Returns the value of an attribute. OTLP writes a value as an object, for example `{ stringValue: 'auth' }`. */
const attributeOf = (attributes: Span['attributes'], name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];
const collector = useFixture(() =>
  serveHttp(async (request, response) => {
    const { resourceSpans } = (await json(request)) as TracesDocument;
    for (const { resource, scopeSpans } of resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, service: attributeOf(resource.attributes, 'service.name') });
    response.setHeader('Content-Type', 'application/json').end('{}');
  }),
);
const system = useFixture(startTestSystem);
let bookings: Instance;
let token: string;
let receiver: WebhookReceiver;
beforeAll(async () => {
  const auth = await system.startAuth(tracing('auth'));
  bookings = await system.startBookings({ ...tracing('bookings'), ...webhookEnvironment });
  token = await getToken(auth.base);
  receiver = await startWebhookReceiver();
});
afterAll(() => receiver?.close());

/** The variables with which an instance sends its spans to the collector, under the name `service`. */
const tracing = (service: string) => ({
  NODE_OPTIONS: '--import @bay-booking/tracing/register',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_SERVICE_NAME: service,
});

test('spans of both services have routes and SQL without values, and belong to the trace of the caller', async () => {
  expect(await bookOnce(bookings.base, token)).toBe(201);

  const traceId = 'a'.repeat(32);
  const callerSpanId = 'b'.repeat(16);
  const list = await fetch(`${bookings.base}/api/bookings?userAlias=somebody`, {
    // The prefix `00` is the version of the header, and the suffix `01` means that the caller records the trace.
    headers: { Authorization: `Bearer ${token}`, traceparent: `00-${traceId}-${callerSpanId}-01` },
  });
  expect(list.status).toBe(200);
  await eventually(async () => spans.some((span) => span.traceId === traceId && span.name.startsWith('pg.')));
  const spansOfTrace = spans.filter((span) => span.traceId === traceId);
  const requestSpan = spansOfTrace.find(({ parentSpanId }) => parentSpanId === callerSpanId);
  expect(requestSpan).toMatchObject({ service: 'bookings', name: 'GET /api/bookings' });
  const statements = spansOfTrace.map(({ attributes }) => attributeOf(attributes, 'db.query.text'));
  expect(statements).toContainEqual(expect.stringContaining('from "booking"'));

  await eventually(async () => spans.some(({ service, name }) => service === 'auth' && name === 'POST /connect/token'));
  // The request that created a booking had no traceparent, so the service has started a trace for this request.
  const logged = await eventually(async () => bookings.log().find(({ status }) => status === 201));
  const createSpan = spans.find(({ name }) => name === 'POST /api/bookings');
  expect(createSpan?.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(logged.traceId).toBe(createSpan?.traceId);

  const text = JSON.stringify(spans);
  // The token request contained the secret of demo-pat-north. The request for the list contained `somebody`.
  const secrets = ['demo-pat-north-secret', token, 'somebody'];
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
});

test('spans of deliveries name the receiver, and neither the path nor the query of its URL', async () => {
  const { origin } = new URL(receiver.url);
  const { base } = bookings;
  for (const url of [
    `${receiver.url}/secret-path?key=secret-query`,
    'http://127.0.0.1:1/secret-path?key=secret-query',
  ]) {
    const { body } = await callApi<{ id: string }>(base, token, 'POST', '/api/webhooks', { url });
    expect((await callApi(base, token, 'POST', `/api/webhooks/${body.id}/ping`)).status).toBe(202);
  }
  const deliveries = () =>
    spans.filter(({ service, name }) => service === 'bookings' && name === 'POST').map((span) => JSON.stringify(span));
  for (const address of [origin, 'http://127.0.0.1:1'])
    await eventually(async () => deliveries().some((span) => span.includes(`"${address}"`)));
  expect(deliveries().filter((span) => span.includes('secret-'))).toEqual([]);
});
