// Serves introspection (RFC 7662) and revocation (RFC 7009) of JWT access tokens. oidc-provider serves these endpoints
// for opaque tokens only. It authenticates the client and then rejects a JWT with `unsupported_token_type`. This
// middleware replaces that response.
import type { JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { createAccessTokenVerifier, type VerifiedAccessToken } from '../access-token-verifier.ts';
import type { ProviderAccount } from '../claims.ts';
import type { Next } from '../middleware-types.ts';
import { routes } from '../paths.ts';
import { ownMetadataOf, type RegisteredClient } from '../registered-client.ts';
import type { ArtifactStore } from '../storage/artifacts.ts';
import { orUnavailable } from '../unavailable.ts';

export interface JwtIntrospectionOptions {
  readonly revokeGrant: ArtifactStore['revokeGrant'];
  readonly keys: readonly JWK[];
  readonly findAccount: (id: string) => Promise<ProviderAccount | undefined>;
}

export function registerJwtIntrospection(provider: Provider, options: JwtIntrospectionOptions): void {
  const { revokeGrant, keys, findAccount } = options;
  const verify = createAccessTokenVerifier({ issuer: provider.issuer, keys });

  /** A valid token is inactive if its client was removed, its grant was revoked, or its account was disabled. */
  const isActive = async ({ clientId, grantId, subject }: VerifiedAccessToken): Promise<boolean> => {
    if (!(await provider.Client.find(clientId))) return false;
    if (grantId === undefined) return true;
    const [grant, account] = await Promise.all([
      provider.Grant.find(grantId),
      orUnavailable(() => findAccount(subject)),
    ]);
    return grant !== undefined && account !== undefined && !account.disabledAt;
  };

  const introspect = async (ctx: KoaContextWithOIDC, client: RegisteredClient, token?: VerifiedAccessToken) => {
    ctx.status = 200;
    ctx.body =
      token && mayInspect(client, token.clientId) && (await isActive(token))
        ? { active: true, token_type: token.jkt === undefined ? 'Bearer' : 'DPoP', ...token.claims }
        : { active: false };
  };

  const revoke = async (ctx: KoaContextWithOIDC, client: RegisteredClient, token?: VerifiedAccessToken) => {
    // A token that is invalid or belongs to another client gets the response 200 and is not revoked.
    if (token?.clientId === client.clientId) {
      // A token without a grant cannot be revoked. The response stays the library's error `unsupported_token_type`.
      if (token.grantId === undefined) return;
      await revokeGrant(token.grantId);
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
 * - A confidential client may also introspect the access tokens of other clients. It may be the back end of an
 *   application and receive the application's access token. It must already have the token to introspect it (RFC 7662
 *   section 4).
 * - A personal access token may not introspect tokens of other clients, because it exists for bookings only.
 * - No client may introspect the refresh tokens of other clients, because no client receives them.
 */
export function mayInspect(
  client: RegisteredClient,
  ownerId: string | undefined,
  kind: 'access token' | 'refresh token' = 'access token',
): boolean {
  if (ownerId === client.clientId) return true;
  if (kind === 'refresh token') return false;
  return client.clientAuthMethod !== 'none' && ownMetadataOf(client).kind === 'standard';
}
