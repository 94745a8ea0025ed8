// Serves `response_type=token`, which oidc-provider does not support (specification, "Implicit flow").
//
// The library supports `code token`, so a request for `token` is rewritten to a request for `code token`. The library
// then issues an access token and a code. The code is removed from the response, and deleted from the database, before
// the response is sent. A client that itself requests `code token` gets the same response as for `token`.
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AuthorizationQuery, Next } from '../middleware-types.ts';

/** The response type that replaces `token`, because oidc-provider does not support `token`. */
const standIn = 'code token';

/**
 * Whether the client gets only an access token. `responseType` is the response type after `replaceTokenResponseType`.
 */
export const isImplicitToken = (responseType: unknown): boolean => responseType === standIn;

/**
 * If the response type is `token` or `code token`, sets it to `code token` and leaves out `response_mode=query`. A
 * query with another response type is returned unchanged.
 */
export function replaceTokenResponseType(query: AuthorizationQuery): AuthorizationQuery {
  const { response_type: responseType, response_mode: responseMode, ...others } = query;
  const types = typeof responseType === 'string' ? responseType.trim().split(/\s+/).sort().join(' ') : '';
  if (types !== 'token' && types !== standIn) return query;
  return {
    ...others,
    response_type: standIn,
    // `response_mode=query` is left out. It would put the token into the query of the redirect URI, and servers log
    // queries. Without the parameter, oidc-provider puts the token into the fragment.
    ...(responseMode !== 'query' && responseMode !== undefined && { response_mode: responseMode }),
  };
}

export function removeCode(ctx: KoaContextWithOIDC, response: Record<string, unknown>): void {
  if (isImplicitToken(ctx.oidc.params?.response_type)) delete response.code;
}

export function deleteImplicitCodes(provider: Provider): void {
  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    await next();
    const code = ctx.oidc?.entities.AuthorizationCode;
    if (code && isImplicitToken(ctx.oidc.params?.response_type)) await code.destroy();
  });
}

/** Returns the response types for the discovery document, which names `token` instead of `code token`. */
export const publishedResponseTypes = (types: readonly string[]): readonly string[] =>
  types.map((type) => (type === standIn ? 'token' : type));
