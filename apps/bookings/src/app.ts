// Builds the HTTP application of the Bookings API. Middleware and routes are mounted in the order in which they run.
import { collectDatabaseMetrics, type Database } from '@bay-booking/service/database/database';
import { createHttpApp } from '@bay-booking/service/http/app';
import { createReadiness, databaseCheck } from '@bay-booking/service/http/readiness';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Express } from 'express';
import { createAccessTokenVerifier } from './auth/access-token.ts';
import { createProofStore } from './auth/proof-store.ts';
import type { SigningKeys } from './auth/signing-keys.ts';
import type { Config } from './config.ts';
import { migrationsDirectory } from './database/migrations-directory.ts';
import { createEndpoints } from './endpoints.ts';
import { mountErrorHandler } from './http/error-responses.ts';
import { createRateLimit } from './http/rate-limit.ts';
import { escapeUndecodablePath, removeBasePath } from './http/request-path.ts';
import { setCommonHeaders } from './http/response.ts';
import { mountEndpoints, mountMethodNotAllowed } from './http/router.ts';
import { observeKeyAge } from './metrics.ts';
import { mountDocuments } from './openapi/routes.ts';
import { formats } from './time/formats.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

export interface AppOptions {
  readonly config: Config;
  readonly db: Database;
  readonly signingKeys: SigningKeys;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * The endpoints of webhooks, and `noteRequest`, which is called with the caller of every request. Undefined if
   * webhooks are off.
   */
  readonly webhooks?: Pick<Webhooks, 'endpoints' | 'noteRequest'> | undefined;
  readonly now?: () => Date;
  /** Aborted when the process begins to stop. Requests that wait for a change then get their response. */
  readonly stopping?: AbortSignal | undefined;
}

export function createApp({
  config,
  db,
  signingKeys,
  logger,
  metrics,
  webhooks,
  now = () => new Date(),
  stopping,
}: AppOptions): Express {
  const { baseUrl, authIssuer, audience, scopeBase, rateLimitPerMinute, metricsPort, trustProxy } = config;
  const scope = `${scopeBase}/golf/bookings`;
  // With METRICS_PORT, another listener serves `/metrics`.
  const servesMetrics = metricsPort === undefined;
  const endpoints = [...createEndpoints({ db, stopping, config, metrics, now }), ...(webhooks?.endpoints ?? [])];

  collectDatabaseMetrics(metrics, db);
  observeKeyAge(metrics, signingKeys);

  const app = createHttpApp({
    logger,
    metrics,
    trustProxy,
    serveMetrics: servesMetrics,
    readiness: createReadiness({
      database: databaseCheck(db, migrationsDirectory),
      signingKey: async () => {
        if (signingKeys.age() === undefined) throw new Error('no signing key has been fetched yet');
      },
    }),
  });
  app.use(setCommonHeaders, removeBasePath(baseUrl), escapeUndecodablePath);
  const authorize = createAccessTokenVerifier({
    signingKeys,
    issuer: authIssuer,
    audience,
    scope,
    baseUrl,
    useProof: createProofStore(db).use,
    resourceMetadataUrl: `${baseUrl}/.well-known/oauth-protected-resource`,
    now,
  });
  mountEndpoints(app, endpoints, {
    authorize,
    onCaller: webhooks?.noteRequest,
    rateLimit: createRateLimit(db, rateLimitPerMinute, (err) => logger.warn({ err }, 'rate limit not counted')),
    formats,
  });
  // `createHttpApp` has mounted the GET handlers of these paths. The loop adds the responses to other methods.
  for (const path of ['/health/live', '/health/ready', ...(servesMetrics ? ['/metrics'] : [])])
    mountMethodNotAllowed(app, path, ['GET', 'HEAD']);
  mountDocuments(app, { endpoints, baseUrl, authIssuer, audience, scope });
  mountErrorHandler(app);
  return app;
}
