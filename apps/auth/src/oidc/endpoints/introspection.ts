// Serves introspection (RFC 7662) and revocation (RFC 7009) of JWT access tokens, which oidc-provider rejects with
// `unsupported_token_type` after it has authenticated the client.
import type { JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { ownMetadataOf, type RegisteredClient } from '../clients/registered-client.ts';
import { routes } from '../paths.ts';
import type { ProviderOptions } from '../provider-options.ts';
import type { Next } from '../request-state.ts';
import { createAccessTokenVerifier, findActive, type VerifiedAccessToken } from './bearer-token.ts';

export function registerJwtIntrospection(
  provider: Provider,
  keys: readonly JWK[],
  {
    artifacts,
    audit,
    revocations,
    services,
  }: Pick<ProviderOptions, 'artifacts' | 'audit' | 'revocations' | 'services'>,
): void {
  const verify = createAccessTokenVerifier({ issuer: provider.issuer, keys });

  const introspect = async (ctx: KoaContextWithOIDC, client: RegisteredClient, token?: VerifiedAccessToken) => {
    ctx.status = 200;
    ctx.body =
      token &&
      mayInspect(client, token.client_id) &&
      (await findActive(provider, token, services.accounts.findWithMemberships, revocations.isRevoked))
        ? { active: true, token_type: token.cnf?.jkt === undefined ? 'Bearer' : 'DPoP', ...token }
        : { active: false };
  };

  const revoke = async (ctx: KoaContextWithOIDC, client: RegisteredClient, token?: VerifiedAccessToken) => {
    if (token?.client_id === client.clientId) {
      await artifacts.revokeAccessToken(token.jti, token.grant_id);
      if (token.grant_id === undefined) {
        audit.record({ kind: 'token.revoked', clientId: client.clientId, accountId: token.sub, address: ctx.ip });
      } else {
        provider.emit('grant.revoked', ctx, token.grant_id);
      }
    }
    ctx.status = 200;
    ctx.body = '';
  };

  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    await next();
    const isRejectedJwt = (ctx.body as { error?: string } | null)?.error === 'unsupported_token_type';
    const client = ctx.oidc?.client;
    if (!isRejectedJwt || !client) return;
    const token = await verify(String(ctx.oidc.params?.token));
    if (ctx.path === routes.introspection) await introspect(ctx, client, token);
    else if (ctx.path === routes.revocation) await revoke(ctx, client, token);
  });
}

/** A back end may introspect the access tokens that its app sends (RFC 7662 section 4). Nobody sends refresh tokens. */
export function mayInspect(
  client: RegisteredClient,
  ownerId: string | undefined,
  tokenType: 'access token' | 'refresh token' = 'access token',
): boolean {
  if (ownerId === client.clientId) return true;
  if (tokenType === 'refresh token') return false;
  return client.clientAuthMethod !== 'none' && ownMetadataOf(client).kind === 'standard';
}
