// Adjusts the responses of the endpoints that authenticate clients (docs/behaviour-auth.md, "Errors of the token
// endpoint" and "Cross-origin requests").
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { AuthConfig } from '../../config.ts';
import { webOriginsOf } from '../clients/registered-client.ts';
import { routes } from '../paths.ts';
import type { ResourceServer } from '../tokens/resource-server.ts';

const crossOriginEndpoints: ReadonlySet<string> = new Set([
  routes.pushed_authorization_request,
  routes.device_authorization,
  routes.token,
  routes.revocation,
]);
const machineEndpoints: ReadonlySet<string> = new Set([...crossOriginEndpoints, routes.introspection]);

export const isMachineEndpoint = (path: string): boolean => machineEndpoints.has(path);

export function prepareMachineRequest(ctx: KoaContextWithOIDC): void {
  ctx.set('Cache-Control', 'no-store');
  // If the client prefers HTML, oidc-provider would return errors as pages.
  ctx.req.headers.accept = 'application/json';
  // oidc-provider rejects the requests of web pages unless the response already has a CORS header.
  if (ctx.method === 'POST') ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After, DPoP-Nonce');
}

export function finishMachineResponse(
  ctx: KoaContextWithOIDC,
  { config, resource }: { config: AuthConfig; resource: ResourceServer },
): void {
  const lacksGrantType = ctx.path === routes.token && ctx.oidc?.params?.grant_type === undefined;
  if (!lacksGrantType) correctFailedAuthentication(ctx);
  if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) {
    ctx.set('WWW-Authenticate', `Basic realm="${config.issuer}", error="invalid_client"`);
  }
  if (crossOriginEndpoints.has(ctx.path) && ctx.method === 'POST') allowOrigin(ctx, resource.audience);
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
 * API is a web page in which a reader can enter client credentials.
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
