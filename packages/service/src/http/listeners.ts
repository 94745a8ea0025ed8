// Describes the HTTP servers of a service: one for its application, and one for its metrics with METRICS_PORT.
import type { Express } from 'express';
import type { Listener } from '../lifecycle.ts';
import type { Metrics } from '../metrics.ts';
import { createMetricsApp } from './app.ts';

export interface ServiceListenersOptions extends Pick<Listener, 'name' | 'respondToMalformed'> {
  readonly app: Express;
  readonly metrics: Metrics;
  readonly config: {
    readonly port: number;
    readonly metricsPort: number | undefined;
    readonly host: string | undefined;
    readonly maxConnections: number;
  };
}

export function serviceListeners(options: ServiceListenersOptions): readonly Listener[] {
  const { name, app, respondToMalformed, metrics } = options;
  const { port, metricsPort, host, maxConnections } = options.config;
  const listener = { name, handler: app, port, host, maxConnections, respondToMalformed };
  if (metricsPort === undefined) return [listener];
  return [listener, { name: 'metrics', handler: createMetricsApp(metrics), port: metricsPort, host }];
}
