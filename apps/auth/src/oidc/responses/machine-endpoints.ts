// Adjusts the responses of the machine endpoints. These are the endpoints that authenticate clients: pushed
// authorization requests, device authorization, token, introspection and revocation (docs/behaviour.md, "Errors of the
// token endpoint" and "Cross-origin requests"):
// - Their errors are always JSON.
// - A failed client authentication gives a 401 with a `WWW-Authenticate` header. A token request without `grant_type`
//   gives `invalid_request` instead.
// - Web pages of the client may read the response, except at the introspection endpoint. The reference of the Bookings
//   API may read the response to a client_credentials request.
import type { KoaContextWithOIDC } from 'oidc-provider';
import { webOriginsOf } from '../clients/registered-client.ts';
import { routes } from '../paths.ts';

const crossOriginEndpoints: ReadonlySet<string> = new Set([
  routes.pushed_authorization_request,
  routes.device_authorization,
  routes.token,
  routes.revocation,
]);
const machineEndpoints: ReadonlySet<string> = new Set([...crossOriginEndpoints, routes.introspection]);

export const isMachineEndpoint = (path: string): boolean => machineEndpoints.has(path);

/** Changes the request, and sets headers of the response, before oidc-provider handles the request. */
export function prepareMachineRequest(ctx: KoaContextWithOIDC): void {
  ctx.set('Cache-Control', 'no-store');
  // If the client prefers HTML, oidc-provider would return an error as an HTML page.
  ctx.req.headers.accept = 'application/json';
  // oidc-provider leaves CORS to us if the response already has a CORS header. Otherwise it rejects the requests of web
  // pages. This header is therefore set here. `finishMachineResponse` decides which web pages may read the response.
  if (ctx.method === 'POST') ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After, DPoP-Nonce');
}

/** Corrects the response after oidc-provider has handled the request. `audience` is the address of the Bookings API. */
export function finishMachineResponse(
  ctx: KoaContextWithOIDC,
  { issuer, audience }: { readonly issuer: string; readonly audience: string },
): void {
  // A token request without `grant_type` stays an `invalid_request`, even if the client authentication is missing too.
  const lacksGrantType = ctx.path === routes.token && ctx.oidc?.params?.grant_type === undefined;
  if (!lacksGrantType) correctFailedAuthentication(ctx);
  if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) {
    ctx.set('WWW-Authenticate', `Basic realm="${issuer}", error="invalid_client"`);
  }
  if (crossOriginEndpoints.has(ctx.path) && ctx.method === 'POST') allowOrigin(ctx, new URL(audience).origin);
}

/** Descriptions of `invalid_request` errors that oidc-provider returns for a missing or malformed authentication. */
const authenticationErrors: ReadonlySet<unknown> = new Set([
  'no client authentication mechanism provided',
  'invalid authorization header value format',
  'client_id and client_secret in the authorization header are not properly encoded',
  'client_secret must be provided in the Authorization header',
  'invalid client_assertion format',
  'client_assertion_type must be provided',
]);

/** Turns the `authenticationErrors` into a 401 `invalid_client`, as RFC 6749 section 5.2 requires. */
function correctFailedAuthentication(ctx: KoaContextWithOIDC): void {
  const { error_description } = (ctx.body ?? {}) as { error_description?: string };
  if (ctx.status !== 400 || !authenticationErrors.has(error_description)) return;
  ctx.status = 401;
  ctx.body = { error: 'invalid_client', error_description };
}

/**
 * Lets web pages of the client read the response. The interactive reference of the Bookings API, at `referenceOrigin`,
 * may read the response to a client_credentials request, because a reader can enter credentials in the reference.
 */
function allowOrigin(ctx: KoaContextWithOIDC, referenceOrigin: string): void {
  const origin = ctx.get('Origin');
  const client = ctx.oidc?.client;
  // If the audience is not an http address, `referenceOrigin` is "null". Sandboxed pages of any site send this origin,
  // so it must not be allowed.
  const isReference =
    origin !== 'null' && origin === referenceOrigin && ctx.oidc?.params?.grant_type === 'client_credentials';
  if (origin && (isReference || (client && webOriginsOf(client).has(origin)))) {
    ctx.set('Access-Control-Allow-Origin', origin);
  } else {
    ctx.remove('Access-Control-Expose-Headers');
  }
}
