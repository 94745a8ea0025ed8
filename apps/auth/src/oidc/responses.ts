// Completes every response of oidc-provider: errors, 404 and 405, headers, and the discovery document.
import { isUnavailable } from '@bay-booking/service/database/database';
import { noteCause } from '@bay-booking/service/http/app';
import type { Logger } from '@bay-booking/service/logging';
import type { Response } from 'express';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { retryAfter, serverError, temporarilyUnavailable } from '../http/errors.ts';
import { publishedResponseTypes } from './authorization/implicit-flow.ts';
import { clientSettings, webOriginsOf } from './clients/registered-client.ts';
import { showPage } from './pages.ts';
import { clientPaths, discoveryPaths, listedPath, methodsOf, routes } from './paths.ts';
import type { ProviderOptions } from './provider-options.ts';
import { type Next, requestState } from './request-state.ts';
import type { ScopeTable } from './scopes.ts';

// Web pages do not introspect (docs/behaviour-auth.md, "Errors of the token endpoint" and "Cross-origin requests").
const crossOriginEndpoints: ReadonlySet<string> = clientPaths.difference(new Set([routes.introspection]));

/** A new key signs only after a longer time (`keyPublishDelaySeconds`). */
const jwksMaxAgeSeconds = 15;

/** For the forms of oidc-provider that a script submits. The library adds the hash of the script to `script-src`. */
const libraryDocumentHeaders = {
  'Content-Security-Policy': "default-src 'none'; script-src; frame-ancestors 'none'; base-uri 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
} as const;

/** Must be registered first, because middleware gets only the errors of later middleware. */
export function registerResponseMiddleware(
  provider: Provider,
  { config, logger, pages, resource, scopes }: ProviderOptions,
): void {
  const showNotFound = async (ctx: KoaContextWithOIDC): Promise<void> => {
    const page = { status: 404, error: 'not_found', description: 'There is no such page.' };
    showPage(ctx, await pages.error(page, ctx.req, ctx.res), { status: 404 });
  };
  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    requestState(ctx).startedAt = Math.floor(Date.now() / 1000);
    if (clientPaths.has(ctx.path)) prepareMachineRequest(ctx);
    else ctx.set(libraryDocumentHeaders);
    try {
      await next();
    } catch (error) {
      respondToError(ctx, error as Error, logger);
    }
    if (clientPaths.has(ctx.path)) finishMachineResponse(ctx, config.issuer, resource.audience);
    if (ctx.status === 503) ctx.set('Retry-After', retryAfter);
    if (ctx.path === routes.jwks && ctx.status === 200)
      ctx.set('Cache-Control', `public, max-age=${jwksMaxAgeSeconds}`);
    if (discoveryPaths.has(ctx.path) && ctx.status === 200) correctDiscoveryDocument(ctx, scopes);
    // oidc-provider has not served the path or the method.
    if (ctx.status === 404 && !ctx.body) respondToWrongMethod(ctx);
    if (ctx.status === 404 && !ctx.body) await showNotFound(ctx);
    // Screen readers need the language of oidc-provider's own documents.
    if (typeof ctx.body === 'string') ctx.body = ctx.body.replace(/^(<!DOCTYPE html>\s*<html)>/, '$1 lang="en">');
  });

  provider.on('server_error', (ctx, error) => {
    if (isUnavailable(error) || (error as { status?: number }).status === 503) respondToError(ctx, error, logger);
    else logger.error({ err: error, path: ctx.path }, 'request failed');
  });
  // The types of oidc-provider do not list this event of Koa.
  (provider as NodeJS.EventEmitter).on('error', (error: Error) =>
    logger.error({ err: error }, 'writing the response failed'),
  );
}

function respondToError(ctx: KoaContextWithOIDC, error: Error, logger: Logger): void {
  const { status, expose, error_description } = error as Error & {
    status?: number;
    expose?: boolean;
    error_description?: string;
  };
  const unavailable = status === 503 || isUnavailable(error);
  if (!unavailable && !expose) logger.error({ err: error, path: ctx.path }, 'request failed');
  // The redirect to the client contains the error.
  if (ctx.status >= 300 && ctx.status < 400 && ctx.response.get('Location')) return;
  if (unavailable) {
    noteCause(ctx.res as Response, error);
    ctx.status = 503;
    ctx.body = temporarilyUnavailable;
  } else if (expose) {
    ctx.status = status || 500;
    ctx.body = { error: error.message, error_description };
  } else {
    ctx.status = 500;
    ctx.body = serverError;
  }
}

function respondToWrongMethod(ctx: KoaContextWithOIDC): void {
  const methods = methodsOf.get(listedPath(ctx.path));
  if (methods === undefined || methods.split(', ').includes(ctx.method)) return;
  ctx.status = 405;
  ctx.set('Allow', methods);
  ctx.body = { error: 'invalid_request', error_description: `only ${methods} are supported here` };
}

/** Corrects the discovery document of oidc-provider (OpenID Connect Discovery 1.0, RFC 8414). */
function correctDiscoveryDocument(ctx: KoaContextWithOIDC, scopes: ScopeTable): void {
  const document = ctx.body as Record<string, readonly string[]>;
  const authMethods = document.token_endpoint_auth_methods_supported;
  const assertionAlgorithms = document.token_endpoint_auth_signing_alg_values_supported;
  Object.assign(document, {
    scopes_supported: scopes.all,
    response_types_supported: publishedResponseTypes(clientSettings.responseTypes),
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    // Without the first member, clients would use client_secret_basic for revocation (RFC 8414 section 2).
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  });
  ctx.set('Cache-Control', 'public, max-age=60');
}

function prepareMachineRequest(ctx: KoaContextWithOIDC): void {
  ctx.set('Cache-Control', 'no-store');
  // If the client prefers HTML, oidc-provider would return errors as pages.
  ctx.req.headers.accept = 'application/json';
  // oidc-provider rejects the requests of web pages unless the response already has a CORS header.
  if (ctx.method === 'POST') ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After, DPoP-Nonce');
}

function finishMachineResponse(ctx: KoaContextWithOIDC, issuer: string, audience: string): void {
  const lacksGrantType = ctx.path === routes.token && ctx.oidc?.params?.grant_type === undefined;
  if (!lacksGrantType) correctFailedAuthentication(ctx);
  if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) {
    ctx.set('WWW-Authenticate', `Basic realm="${issuer}", error="invalid_client"`);
  }
  if (crossOriginEndpoints.has(ctx.path) && ctx.method === 'POST') allowOrigin(ctx, audience);
}

/** Descriptions of errors that oidc-provider returns as `invalid_request`. */
const authenticationErrors: ReadonlySet<unknown> = new Set([
  'no client authentication mechanism provided',
  'invalid authorization header value format',
  'client_id and client_secret in the authorization header are not properly encoded',
  'client_secret must be provided in the Authorization header',
  'invalid client_assertion format',
  'client_assertion_type must be provided',
]);

/** RFC 6749 section 5.2 */
function correctFailedAuthentication(ctx: KoaContextWithOIDC): void {
  const { error_description } = (ctx.body ?? {}) as { error_description?: string };
  if (ctx.status !== 400 || !authenticationErrors.has(error_description)) return;
  ctx.status = 401;
  ctx.body = { error: 'invalid_client', error_description };
}

/**
 * A web page cannot keep a secret, so only responses to public clients are for web pages. The reference of the Bookings
 * API is a web page where a reader can enter client credentials.
 */
function allowOrigin(ctx: KoaContextWithOIDC, audience: string): void {
  const origin = ctx.get('Origin');
  const client = ctx.oidc?.client;
  // Sandboxed pages of any site send the origin "null".
  const isReference = () =>
    origin !== 'null' && origin === new URL(audience).origin && ctx.oidc?.params?.grant_type === 'client_credentials';
  const isPageOfClient = () => client?.clientAuthMethod === 'none' && webOriginsOf(client).has(origin);
  if (origin !== '' && (isReference() || isPageOfClient())) {
    ctx.set('Access-Control-Allow-Origin', origin);
  } else {
    ctx.remove('Access-Control-Expose-Headers');
  }
}
