// Serves introspection (RFC 7662) and revocation (RFC 7009) of JWT access tokens. oidc-provider serves the two
// endpoints for opaque tokens only. The library authenticates the client and then rejects a JWT with
// `unsupported_token_type`. The middleware in this file replaces the library's response.
import type { JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { ownMetadataOf, type RegisteredClient } from '../clients/registered-client.ts';
import type { Next } from '../middleware-types.ts';
import { routes } from '../paths.ts';
import type { ArtifactStore } from '../storage/artifacts.ts';
import { createAccessTokenVerifier, type VerifiedAccessToken } from '../tokens/access-token-verifier.ts';
import { type FindAccount, findActive } from '../tokens/active-token.ts';

export interface JwtIntrospectionOptions {
  readonly revokeGrant: ArtifactStore['revokeGrant'];
  readonly keys: readonly JWK[];
  readonly findAccount: FindAccount;
}

export function registerJwtIntrospection(provider: Provider, options: JwtIntrospectionOptions): void {
  const { revokeGrant, keys, findAccount } = options;
  const verify = createAccessTokenVerifier({ issuer: provider.issuer, keys });

  const introspect = async (ctx: KoaContextWithOIDC, client: RegisteredClient, token?: VerifiedAccessToken) => {
    ctx.status = 200;
    ctx.body =
      token && mayInspect(client, token.clientId) && (await findActive(provider, token, findAccount))
        ? { active: true, token_type: token.jkt === undefined ? 'Bearer' : 'DPoP', ...token.claims }
        : { active: false };
  };

  const revoke = async (ctx: KoaContextWithOIDC, client: RegisteredClient, token?: VerifiedAccessToken) => {
    // If the token is invalid or belongs to another client, the response is a 200, but nothing is revoked.
    if (token?.clientId === client.clientId) {
      // A token without a grant cannot be revoked. The `return` leaves the error `unsupported_token_type` of
      // oidc-provider in the response.
      if (token.grantId === undefined) return;
      await revokeGrant(token.grantId);
      // oidc-provider emits this event if it revokes a grant itself. The audit trail records the event.
      provider.emit('grant.revoked', ctx, token.grantId);
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

/**
 * Whether a client may introspect a token that was issued to the client `ownerId`.
 * - Every client may introspect its own tokens.
 * - A confidential client of the kind `standard` may also introspect the access tokens of other clients. For example,
 *   an app sends its access token to its back end, and the back end introspects the token (RFC 7662 section 4).
 * - Public clients and clients of other kinds may introspect only their own tokens. For example, a personal access
 *   token is registered as a client of its own, which exists only to call bookings.
 * - No client may introspect the refresh tokens of other clients, because clients do not send these to each other.
 */
export function mayInspect(
  client: RegisteredClient,
  ownerId: string | undefined,
  tokenType: 'access token' | 'refresh token' = 'access token',
): boolean {
  if (ownerId === client.clientId) return true;
  if (tokenType === 'refresh token') return false;
  return client.clientAuthMethod !== 'none' && ownMetadataOf(client).kind === 'standard';
}
