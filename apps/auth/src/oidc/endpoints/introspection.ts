// Is this JWT access token good, and can it be revoked? The library serves opaque tokens and refuses JWTs at both endpoints; once it has
// authenticated the client, JWTs of ours are answered here. RFC 7662, RFC 7009.
import type { JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { createAccessTokenVerifier, type VerifiedAccessToken } from '../access-token-verifier.ts';
import type { ProviderAccount } from '../claims.ts';
import type { Next } from '../middleware-types.ts';
import { routes } from '../paths.ts';
import { ownMetadataOf, type RegisteredClient } from '../registered-client.ts';
import type { ArtifactStore } from '../storage/artifacts.ts';
import { orUnavailable } from '../unavailable.ts';

export interface TokenStatusOptions {
  readonly artifacts: ArtifactStore;
  readonly keys: readonly JWK[];
  readonly audience: string;
  readonly findAccount: (id: string) => Promise<ProviderAccount | undefined>;
  readonly mayInspect: (client: RegisteredClient, ownerId: string | undefined) => boolean;
}

export function registerTokenStatus(provider: Provider, options: TokenStatusOptions): void {
  const { artifacts, keys, findAccount, mayInspect } = options;
  const verify = createAccessTokenVerifier({ issuer: provider.issuer, keys });

  /** Nor is a token live whose client, as a personal access token is one, was revoked, or whose account was disabled. */
  const isLive = async ({ clientId, grantId, subject }: VerifiedAccessToken): Promise<boolean> => {
    if (!(await provider.Client.find(clientId))) return false;
    if (grantId === undefined) return true;
    const [grant, account] = await Promise.all([
      provider.Grant.find(grantId),
      orUnavailable(() => findAccount(subject)),
    ]);
    return grant !== undefined && account !== undefined && !account.disabledAt;
  };

  provider.use(async (ctx: KoaContextWithOIDC, next: Next) => {
    await next();
    const refusedAsJwt = (ctx.body as { error?: string } | null)?.error === 'unsupported_token_type';
    const client = ctx.oidc?.client;
    if (!refusedAsJwt || !client) return;
    const token = await verify(String(ctx.oidc.params?.token));
    if (ctx.path === routes.introspection) {
      ctx.status = 200;
      ctx.body =
        token && mayInspect(client, token.clientId) && (await isLive(token))
          ? { active: true, token_type: 'Bearer', ...token.claims }
          : { active: false };
    } else if (ctx.path === routes.revocation) {
      // A token that is not ours or no longer good needs no revoking; one without a grant lives until it expires.
      if (token && token.clientId === client.clientId) {
        if (token.grantId === undefined) return;
        await artifacts.revokeGrant(token.grantId);
        provider.emit('grant.revoked', ctx, token.grantId);
      }
      ctx.status = 200;
      ctx.body = '';
    }
  });
}

/**
 * A client sees its own tokens. A confidential client is a back end, which may be a resource server of an application beside it, and sees
 * those it is shown: to ask it has to hold them (RFC 7662 section 4). A personal access token is for booking alone.
 */
export function mayInspect(client: RegisteredClient, ownerId: string | undefined): boolean {
  if (ownerId === client.clientId) return true;
  return client.clientAuthMethod !== 'none' && ownMetadataOf(client).kind === 'standard';
}
