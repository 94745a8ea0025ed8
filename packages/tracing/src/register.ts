// Switches OpenTelemetry on. A service loads this file only if it is started with
// `NODE_OPTIONS="--import @bay-booking/tracing/register"`. Spans of incoming requests, outgoing requests and SQL
// statements are sent to OTEL_EXPORTER_OTLP_ENDPOINT with OTLP over HTTP. OpenTelemetry defines the meaning of the
// variables OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER_ARG.
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

// Instrumentations replace functions of a module when the module is loaded. For ES modules, this needs a hook of Node.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);

const provider = new TracerProvider({
  resource: defaultResource().merge(detectResources({ detectors: [envDetector] })),
  // The caller of a service can decide whether a trace is recorded. If the caller does not decide, the share
  // OTEL_TRACES_SAMPLER_ARG of the traces is recorded (default: 1, all traces).
  sampler: new ParentBasedSampler({
    root: new TraceIdRatioBasedSampler(getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1),
  }),
  // Spans are sent every second, so the spans of at most one second are lost when the process is killed. While the
  // collector is unavailable, at most 2048 spans wait in memory.
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
      // The services read the trace id for their logs from the request header `traceparent`. A request without this
      // header begins a new trace here. The hook sets the header, so that the log contains the id of the new trace.
      requestHook: (span, request) => {
        // An outgoing request is a `ClientRequest`. The instrumentation itself sets the header of such a request.
        if (!(request instanceof IncomingMessage)) return;
        const { traceId, spanId, traceFlags } = span.spanContext();
        request.headers.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
      },
      applyCustomAttributesOnSpan: (span, request, response) => {
        if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return;
        // The query string is not recorded, because it may contain an authorization code, a token or a name.
        if (request.url?.includes('?')) span.setAttribute('url.query', 'REDACTED');
        // The services store the path template of the endpoint, such as `/api/bookings/{id}`, in `locals.route`.
        const { route } = (response as { locals?: { route?: string } }).locals ?? {};
        if (route === undefined) return;
        span.setAttribute('http.route', route);
        span.updateName(`${request.method} ${route}`);
      },
    }),
    // Only the text of a statement is recorded. The values of its parameters may be personal data.
    new PgInstrumentation({ enhancedDatabaseReporting: false }),
  ],
});
