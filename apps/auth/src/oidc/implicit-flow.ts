// Serves `response_type=token`, which oidc-provider does not support (specification, "Implicit flow").
//
// The library supports `code token`, so a request for `token` is rewritten to `code token` before the library reads
// it. The library then checks the request, asks for consent, and issues an access token and a code. The code is
// removed from the response and deleted from the database before the response is sent. A request for `code token`
// gives the same result as a request for `token`.
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AuthorizationQuery, Next } from './middleware-types.ts';

const standIn = 'code token';

/** Whether the (rewritten) response type is that of the implicit flow without an id_token. */
export const isImplicitToken = (responseType: unknown): boolean => responseType === standIn;

/** Replaces the response type `token` by `code token`. Returns a query with another response type unchanged. */
export function rewriteTokenRequest(query: AuthorizationQuery): AuthorizationQuery {
  const { response_type: responseType, response_mode: responseMode, ...others } = query;
  const types = typeof responseType === 'string' ? responseType.trim().split(/\s+/).sort().join(' ') : '';
  if (types !== 'token' && types !== standIn) return query;
  return {
    ...others,
    response_type: standIn,
    // Removes `response_mode=query`, because logs would then contain the token. Without this parameter, the library
    // puts the response into the fragment of the redirect URI.
    ...(responseMode !== 'query' && responseMode !== undefined && { response_mode: responseMode }),
  };
}

/** Removes the code from the parameters of the response. */
export function removeCode(ctx: KoaContextWithOIDC, response: Record<string, unknown>): void {
  if (isImplicitToken(ctx.oidc.params?.response_type)) delete response.code;
}

/** Deletes the code of an implicit flow from the database before the response is sent. */
export function deleteImplicitCodes(provider: Provider): void {
  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    await next();
    const code = ctx.oidc?.entities.AuthorizationCode;
    if (code && isImplicitToken(ctx.oidc.params?.response_type)) await code.destroy();
  });
}

/** The response types as the discovery document shows them to clients. */
export const publishedResponseTypes = (types: readonly string[]): readonly string[] =>
  types.map((type) => (type === standIn ? 'token' : type));
