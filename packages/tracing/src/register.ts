// Switches OpenTelemetry on: start a service with `NODE_OPTIONS="--import @bay-booking/tracing/register"`. Spans of
// incoming requests, outgoing requests and SQL statements go to OTEL_EXPORTER_OTLP_ENDPOINT by OTLP over HTTP.
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER_ARG have the meaning
// that OpenTelemetry defines. Without the flag, none of this code is loaded.
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

// ES modules that are traced are loaded through this hook. `require` needs no hook.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);

const provider = new TracerProvider({
  resource: defaultResource().merge(detectResources({ detectors: [envDetector] })),
  // The share of traces to keep if the caller has not decided.
  sampler: new ParentBasedSampler({
    root: new TraceIdRatioBasedSampler(getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1),
  }),
  // At most a second of spans is lost when the process ends. At most 2048 spans wait for an unavailable collector.
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: 1_000 })],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(provider);
registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation({
      // Health probes and metrics are not traced.
      ignoreIncomingRequestHook: ({ url = '' }) => url.startsWith('/health/') || url === '/metrics',
      // The log reads the trace id from the header `traceparent`. A request without that header begins a trace in this
      // process, so the header is set here.
      requestHook: (span, request) => {
        if (!(request instanceof IncomingMessage)) return;
        const { traceId, spanId, traceFlags } = span.spanContext();
        request.headers.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
      },
      applyCustomAttributesOnSpan: (span, request, response) => {
        if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return;
        // A query string may contain a code, a token or a name.
        if (request.url?.includes('?')) span.setAttribute('url.query', 'REDACTED');
        const { route } = (response as { locals?: { route?: string } }).locals ?? {};
        if (route === undefined) return;
        span.setAttribute('http.route', route);
        span.updateName(`${request.method} ${route}`);
      },
    }),
    // Only the text of a statement is recorded, because its values may be personal data.
    new PgInstrumentation({ enhancedDatabaseReporting: false }),
  ],
});
