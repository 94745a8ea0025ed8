// Serves `response_type=token`, which oidc-provider does not support (specification, "Implicit flow"). The request is
// rewritten to `code token`. The code is removed from the response and from the database.
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AuthorizationQuery, Next } from '../request-state.ts';

const standIn = 'code token';

export const isImplicitToken = (responseType: unknown): boolean => responseType === standIn;

export function replaceTokenResponseType(query: AuthorizationQuery): AuthorizationQuery {
  const { response_type: responseType, response_mode: responseMode, ...others } = query;
  const types = typeof responseType === 'string' ? responseType.trim().split(/\s+/).sort().join(' ') : '';
  if (types !== 'token' && types !== standIn) return query;
  return {
    ...others,
    response_type: standIn,
    // The query of a redirect URI is logged by servers, so the token must be in the fragment, the default.
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

export const publishedResponseTypes = (types: readonly string[]): readonly string[] =>
  types.map((type) => (type === standIn ? 'token' : type));
