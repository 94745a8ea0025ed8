// How do the protocol endpoints answer, beyond what the library does? Errors of machine endpoints are JSON whatever `Accept` says, a 401
// names its challenge, a database that is away is 503 with Retry-After, and no path falls through as plain text. RFC 6749 section 5.2;
// contract section 6.
import { isUnavailable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { serverError } from '../http/error-handler.ts';
import { retryAfter, temporarilyUnavailable } from '../http/unavailable.ts';
import { publishedResponseTypes } from './implicit-flow.ts';
import type { Next } from './middleware-types.ts';
import { documentHeaders } from './pages.ts';
import { discoveryPaths, methodsOf, routes } from './paths.ts';
import { webOriginsOf } from './registered-client.ts';

export interface AnswerOptions {
  readonly issuer: string;
  /** Every scope there is; the library knows those of OpenID Connect alone. */
  readonly scopes: readonly string[];
  readonly logger: Logger;
  readonly renderNotFound: (ctx: KoaContextWithOIDC) => void | Promise<void>;
}

/** Seconds that caches may keep the keys; shorter than a new key is published before it signs. */
const jwksMaxAge = 15;

/** Which authenticate clients, and answer in JSON alone. */
const machine: ReadonlySet<string> = new Set([routes.token, routes.introspection, routes.revocation]);
const readableByOrigin: ReadonlySet<string> = new Set([routes.token, routes.revocation]);

export function registerResponseMiddleware(provider: Provider, options: AnswerOptions): void {
  const { issuer, scopes, logger, renderNotFound } = options;
  // Outermost, so that it sees every answer, and what is thrown outside the library's own error handling.
  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    setOut(ctx);
    try {
      await next();
    } catch (error) {
      handleError(ctx, error as Error, logger);
    }
    if (machine.has(ctx.path)) finishMachineAnswer(ctx, issuer);
    if (ctx.status === 503) ctx.set('Retry-After', retryAfter);
    if (ctx.path === routes.jwks && ctx.status === 200) ctx.set('Cache-Control', `public, max-age=${jwksMaxAge}`);
    if (discoveryPaths.has(ctx.path) && ctx.status === 200) completeMetadata(ctx, scopes);
    if (ctx.status === 404 && !ctx.body) refuseMethod(ctx);
    if (ctx.status === 404 && !ctx.body) await renderNotFound(ctx);
    nameLanguage(ctx);
  });

  // The library has made a 500 of it by now and hides what it was; a database that is away deserves its own status.
  provider.on('server_error', (ctx, error) => {
    if (isUnavailable(error) || (error as { status?: number }).status === 503) handleError(ctx, error, logger);
    else logger.error({ err: error, path: ctx.path }, 'request failed');
  });
  (provider as NodeJS.EventEmitter).on('error', (error: Error) =>
    logger.error({ err: error }, 'answer could not be written'),
  );
}

function setOut(ctx: KoaContextWithOIDC): void {
  if (!machine.has(ctx.path)) {
    ctx.set(documentHeaders);
    return;
  }
  ctx.set('Cache-Control', 'no-store');
  ctx.req.headers.accept = 'application/json';
  // With a CORS header present the library leaves CORS to us: it would refuse what an unlisted origin asks, we do not let it read.
  if (ctx.method === 'POST') ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After');
}

function finishMachineAnswer(ctx: KoaContextWithOIDC, issuer: string): void {
  if (!(ctx.path === routes.token && ctx.oidc?.params?.grant_type === undefined)) tellFailedAuthentication(ctx);
  if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) {
    ctx.set('WWW-Authenticate', `Basic realm="${issuer}", error="invalid_client"`);
  }
  if (readableByOrigin.has(ctx.path) && ctx.method === 'POST') allowOrigin(ctx);
}

function refuseMethod(ctx: KoaContextWithOIDC): void {
  const methods = methodsOf.get(ctx.path);
  if (methods === undefined || methods.split(', ').includes(ctx.method)) return;
  ctx.status = 405;
  ctx.set('Allow', methods);
  ctx.body = { error: 'invalid_request', error_description: `only ${methods} are supported here` };
}

function completeMetadata(ctx: KoaContextWithOIDC, scopes: readonly string[]): void {
  const body = ctx.body as Record<string, readonly string[]>;
  const methods = body.token_endpoint_auth_methods_supported;
  Object.assign(body, {
    scopes_supported: scopes,
    // RFC 8414 section 2: where these are not told, public clients may take it that they cannot revoke.
    revocation_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_methods_supported: methods,
    // It belongs to front- and back-channel logout, which are off.
    claims_supported: body.claims_supported?.filter((claim) => claim !== 'sid'),
  });
  body.response_types_supported = publishedResponseTypes(body.response_types_supported ?? []);
  ctx.set('Cache-Control', 'public, max-age=60');
}

/** The library's own documents do not say in which language they are, which a screen reader has to know. */
function nameLanguage(ctx: KoaContextWithOIDC): void {
  const { body } = ctx;
  if (typeof body === 'string' && /^<!DOCTYPE html>\s*<html>/.test(body)) {
    ctx.body = body.replace('<html>', '<html lang="en">');
  }
}

function handleError(ctx: KoaContextWithOIDC, error: Error, logger: Logger): void {
  const { status, expose, error_description } = error as Error & {
    status?: number;
    expose?: boolean;
    error_description?: string;
  };
  const away = status === 503 || isUnavailable(error);
  if (!away && !expose) logger.error({ err: error, path: ctx.path }, 'request failed');
  if (ctx.status >= 300 && ctx.status < 400 && ctx.response.get('Location')) return;
  ctx.status = away ? 503 : expose && status ? status : 500;
  ctx.body = away ? temporarilyUnavailable : expose ? { error: error.message, error_description } : serverError;
}

/** What the library calls an invalid request where a client has not authenticated, or has tried to in a way that cannot be read. */
const authenticationFaults: ReadonlySet<unknown> = new Set([
  'no client authentication mechanism provided',
  'invalid authorization header value format',
  'client_id and client_secret in the authorization header are not properly encoded',
  'client_secret must be provided in the Authorization header',
]);

/** RFC 6749 section 5.2: `invalid_client` is for "no client authentication included" too, and 401 for every use of the header. */
function tellFailedAuthentication(ctx: KoaContextWithOIDC): void {
  const { error_description } = (ctx.body ?? {}) as { error_description?: string };
  if (ctx.status !== 400 || !authenticationFaults.has(error_description)) return;
  ctx.status = 401;
  ctx.body = { error: 'invalid_client', error_description };
}

function allowOrigin(ctx: KoaContextWithOIDC): void {
  const origin = ctx.get('Origin');
  const client = ctx.oidc?.client;
  if (origin && client && webOriginsOf(client).has(origin)) {
    ctx.set('Access-Control-Allow-Origin', origin);
  } else {
    ctx.remove('Access-Control-Expose-Headers');
  }
}
