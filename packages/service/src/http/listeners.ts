// Describes a service's HTTP servers: one for the application and, if METRICS_PORT or MANAGEMENT_PORT is set, one for
// metrics or for the management API.
import type { RequestListener } from 'node:http';
import type { Express } from 'express';
import type { Listener } from '../lifecycle.ts';
import type { Metrics } from '../metrics.ts';
import { isLoopback, isLoopbackHost } from '../public-address.ts';
import { createMetricsApp } from './app.ts';
import type { MalformedRequestResponder } from './malformed-request.ts';

export interface ServiceListenersOptions {
  readonly name: string;
  readonly app: Express;
  /** The management API, if it has a port of its own. */
  readonly management?: Express | undefined;
  readonly respondToMalformed: MalformedRequestResponder;
  /** ISSUER or BASE_URL */
  readonly publicUrl: string;
  readonly metrics: Metrics;
  readonly config: {
    readonly port: number;
    readonly metricsPort: number | undefined;
    readonly managementPort?: number | undefined;
    readonly host: string | undefined;
  };
}

export function serviceListeners(options: ServiceListenersOptions): readonly Listener[] {
  const { name, app, management, respondToMalformed, metrics, publicUrl } = options;
  const { port, metricsPort, managementPort, host } = options.config;
  const forOwnHost = (handler: RequestListener): RequestListener =>
    isLoopbackHost(host ?? '') ? rejectOtherHosts(handler, publicUrl, respondToMalformed) : handler;
  const listener = { name, handler: forOwnHost(app), port, host, respondToMalformed };
  const listeners: Listener[] = [listener];
  if (metricsPort !== undefined)
    listeners.push({ name: 'metrics', handler: forOwnHost(createMetricsApp(metrics)), port: metricsPort, host });
  if (management && managementPort !== undefined)
    listeners.push({ ...listener, name: 'management', handler: forOwnHost(management), port: managementPort });
  return listeners;
}

/** A web page whose host name leads to a reader's loopback address (DNS rebinding) could use the service. */
function rejectOtherHosts(handler: RequestListener, publicUrl: string, respond: MalformedRequestResponder) {
  const { hostname } = new URL(publicUrl);
  const listener: RequestListener = (request, response) => {
    const url = `http://${request.headers.host}`;
    // HTTP/1.0 has no Host header.
    const isOwn = request.headers.host === undefined || isLoopback(url) || URL.parse(url)?.hostname === hostname;
    if (isOwn) return handler(request, response);
    const { headers, body } = respond(421);
    response.writeHead(421, headers).end(body);
  };
  return listener;
}
