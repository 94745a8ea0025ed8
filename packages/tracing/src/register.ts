// OpenTelemetry, for who asks for it: `NODE_OPTIONS="--import @bay-booking/tracing/register"` before a service starts. Spans of the requests it
// answers, the requests it makes and the statements it runs go to OTEL_EXPORTER_OTLP_ENDPOINT by OTLP over HTTP; OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER_ARG are as OpenTelemetry has them. Without the flag nothing of this is loaded.
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

// `import` of a module that is to be traced goes through this; `require` needs no hook.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);

const provider = new TracerProvider({
  resource: defaultResource().merge(detectResources({ detectors: [envDetector] })),
  // The share of traces to keep, where the caller has not decided.
  sampler: new ParentBasedSampler({
    root: new TraceIdRatioBasedSampler(getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1),
  }),
  // A second at most is lost when the process ends; 2048 spans wait at most for a collector that is away.
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: 1_000 })],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(provider);
registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation({
      // Probes and scrapes are no traffic.
      ignoreIncomingRequestHook: ({ url = '' }) => url.startsWith('/health/') || url === '/metrics',
      // Of a trace that begins here, too, the log has the id.
      requestHook: (span, request) => {
        if (!(request instanceof IncomingMessage)) return;
        const { traceId, spanId, traceFlags } = span.spanContext();
        request.headers.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
      },
      applyCustomAttributesOnSpan: (span, request, response) => {
        if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return;
        // A query may carry a code, a token or a name.
        if (request.url?.includes('?')) span.setAttribute('url.query', 'REDACTED');
        const { route } = (response as { locals?: { route?: string } }).locals ?? {};
        if (route === undefined) return;
        span.setAttribute('http.route', route);
        span.updateName(`${request.method} ${route}`);
      },
    }),
    // The text alone: values are people's.
    new PgInstrumentation({ enhancedDatabaseReporting: false }),
  ],
});
