// Completes every response of oidc-provider, with middleware that runs before and after the library. The middleware
// turns errors that the library throws into OAuth errors. If the library does not serve a path or method, the
// middleware responds with a 404 or 405.
import { isUnavailable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { serverError } from '../../http/error-handler.ts';
import { retryAfter, temporarilyUnavailable } from '../../http/unavailable.ts';
import type { Next } from '../middleware-types.ts';
import { discoveryPaths, methodsOf, routes } from '../paths.ts';
import { correctDiscoveryDocument } from './discovery-document.ts';
import { finishMachineResponse, isMachineEndpoint, prepareMachineRequest } from './machine-endpoints.ts';

export interface ResponseMiddlewareOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly scopes: readonly string[];
  /** The response types for the discovery document. */
  readonly responseTypes: readonly string[];
  readonly logger: Logger;
  readonly showNotFound: (ctx: KoaContextWithOIDC) => Promise<void>;
}

/**
 * How long HTTP caches may store the public keys, in seconds. By default, auth waits for 30 s (KEY_PUBLISH_DELAY)
 * before it signs with a new key. Until then, the caches have the new public key.
 */
const jwksMaxAge = 15;

/**
 * The headers of the HTML documents that oidc-provider itself writes. Each document contains a form that an inline
 * script submits to the client. The library adds the hash of the script to `script-src`. The policy has no
 * `form-action`, because this directive would have to list the addresses of all clients.
 */
const libraryDocumentHeaders = {
  'Content-Security-Policy': "default-src 'none'; script-src; frame-ancestors 'none'; base-uri 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
} as const;

/**
 * Must be called before any other middleware is registered, because this middleware handles the errors of the others.
 * In Koa, middleware gets only the errors of middleware that was registered later.
 */
export function registerResponseMiddleware(provider: Provider, options: ResponseMiddlewareOptions): void {
  const { logger, showNotFound } = options;
  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    // Machine endpoints are those that authenticate clients, such as the token endpoint. oidc-provider can send HTML
    // documents at the other endpoints.
    if (isMachineEndpoint(ctx.path)) prepareMachineRequest(ctx);
    else ctx.set(libraryDocumentHeaders);
    try {
      await next();
    } catch (error) {
      respondToError(ctx, error as Error, logger);
    }
    if (isMachineEndpoint(ctx.path)) finishMachineResponse(ctx, options);
    if (ctx.status === 503) ctx.set('Retry-After', retryAfter);
    if (ctx.path === routes.jwks && ctx.status === 200) ctx.set('Cache-Control', `public, max-age=${jwksMaxAge}`);
    if (discoveryPaths.has(ctx.path) && ctx.status === 200) correctDiscoveryDocument(ctx, options);
    // The status is 404, without a body, if oidc-provider does not serve the path or the method.
    if (ctx.status === 404 && !ctx.body) respondToWrongMethod(ctx);
    if (ctx.status === 404 && !ctx.body) await showNotFound(ctx);
  });

  // oidc-provider emits this event after it has turned an unexpected error into a 500.
  provider.on('server_error', (ctx, error) => {
    if (isUnavailable(error) || (error as { status?: number }).status === 503) respondToError(ctx, error, logger);
    else logger.error({ err: error, path: ctx.path }, 'request failed');
  });
  // The types of oidc-provider do not list this event, which Koa emits.
  (provider as NodeJS.EventEmitter).on('error', (error: Error) =>
    logger.error({ err: error }, 'writing the response failed'),
  );
}

function respondToError(ctx: KoaContextWithOIDC, error: Error, logger: Logger): void {
  const { status, expose, error_description } = error as Error & {
    status?: number;
    /** Whether the message may be sent to the client. */
    expose?: boolean;
    error_description?: string;
  };
  const unavailable = status === 503 || isUnavailable(error);
  if (!unavailable && !expose) logger.error({ err: error, path: ctx.path }, 'request failed');
  // The response already redirects the browser to the client, with the error in the address.
  if (ctx.status >= 300 && ctx.status < 400 && ctx.response.get('Location')) return;
  if (unavailable) {
    ctx.status = 503;
    ctx.body = temporarilyUnavailable;
  } else if (expose) {
    ctx.status = status || 500;
    // The message of an error of oidc-provider is its OAuth error code.
    ctx.body = { error: error.message, error_description };
  } else {
    ctx.status = 500;
    ctx.body = serverError;
  }
}

/** Turns oidc-provider's 404 into a 405 if the path exists but does not support the method. */
function respondToWrongMethod(ctx: KoaContextWithOIDC): void {
  const methods = methodsOf.get(ctx.path);
  if (methods === undefined || methods.split(', ').includes(ctx.method)) return;
  ctx.status = 405;
  ctx.set('Allow', methods);
  ctx.body = { error: 'invalid_request', error_description: `only ${methods} are supported here` };
}
