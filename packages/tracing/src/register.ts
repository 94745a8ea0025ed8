// Sends spans of requests and SQL statements to OTEL_EXPORTER_OTLP_ENDPOINT. A service loads this file only with
// `NODE_OPTIONS="--import @bay-booking/tracing/register"`.
import { IncomingMessage, ServerResponse } from 'node:http';
import { register } from 'node:module';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { getNumberFromEnv, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { defaultResource, detectResources, envDetector } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

// Replacing the functions of ES modules needs a hook of Node.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);

const provider = new TracerProvider({
  resource: defaultResource().merge(detectResources({ detectors: [envDetector] })),
  // If the caller has made no sampling decision, OTEL_TRACES_SAMPLER_ARG sets the share of requests (default: 1).
  sampler: new ParentBasedSampler({
    root: new TraceIdRatioBasedSampler(getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1),
  }),
  // If the process is killed, at most the spans of one second are lost.
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: 1_000 })],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(provider);
registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation({
      ignoreIncomingRequestHook: ({ url = '' }) => url.startsWith('/health/') || url === '/metrics',
      requestHook: (span, request) => {
        if (!(request instanceof IncomingMessage)) {
          // The path or the query of the URL of a webhook may be a secret.
          span.setAttribute('url.full', `${request.protocol}//${request.getHeader('host')}`);
          return;
        }
        // The services read the trace id for their logs from `traceparent`, which a request without a caller's trace
        // lacks. The instrumentation itself sets the header of an outgoing request.
        const { traceId, spanId, traceFlags } = span.spanContext();
        request.headers.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
      },
      applyCustomAttributesOnSpan: (span, request, response) => {
        if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return;
        // The query may contain an authorization code, a token or a name.
        if (request.url?.includes('?')) span.setAttribute('url.query', 'REDACTED');
        const { route } = (response as { locals?: { route?: string } }).locals ?? {};
        if (route === undefined) return;
        span.setAttribute('http.route', route);
        span.updateName(`${request.method} ${route}`);
      },
    }),
    // If true, spans would contain the values of SQL parameters, which may be personal data.
    new PgInstrumentation({ enhancedDatabaseReporting: false }),
  ],
});
