// How is `response_type=token` served (specification, "Implicit flow")? oidc-provider has no `token` alone but has `code token`: the
// request is read as that, and the code is dropped from the answer and from the database. So issuing, consent, fragment mode and
// errors are the library's own, and asking for `code token` by hand gives what `token` gives.
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Next } from './middleware-types.ts';

const standIn = 'code token';

export const isImplicitToken = (responseType: unknown): boolean => responseType === standIn;

/** The query that the library is to see instead of `query`. */
export function rewriteTokenRequest(
  query: Record<string, string | string[] | undefined>,
): Record<string, string | string[] | undefined> {
  const { response_type: responseType, response_mode: responseMode, ...rest } = query;
  const types = typeof responseType === 'string' ? responseType.trim().split(/\s+/).sort().join(' ') : '';
  if (types !== 'token' && types !== standIn) return query;
  return {
    ...rest,
    response_type: standIn,
    // A token in a query would end in logs; `query` is refused, and its own error belongs into the fragment as well.
    ...(responseMode !== 'query' && responseMode !== undefined && { response_mode: responseMode }),
  };
}

/** Takes the code of a token-only request out of the answer; runs before the answer is written. */
export function dropCode(ctx: KoaContextWithOIDC, answer: Record<string, unknown>): void {
  if (isImplicitToken(ctx.oidc.params?.response_type)) delete answer.code;
}

/** Takes it out of the database as well, before the answer leaves. */
export function registerImplicit(provider: Provider): void {
  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    await next();
    const code = ctx.oidc?.entities.AuthorizationCode;
    if (code && isImplicitToken(ctx.oidc.params?.response_type)) await code.destroy();
  });
}

/** Metadata names what clients may ask for. */
export const publishedResponseTypes = (types: readonly string[]): readonly string[] =>
  types.map((type) => (type === standIn ? 'token' : type));
