// Is this JWT access token good, and can it be revoked? The library serves opaque tokens and refuses JWTs at both endpoints; once it has
// authenticated the client, JWTs of ours are answered here. RFC 7662, RFC 7009.
import type { JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ArtifactStore } from './adapter.ts';
import { ownMetadataOf, type RegisteredClient } from './clients/registered.ts';
import { createTokenVerifier, type OwnToken } from './own-token.ts';
import { routes } from './protocol-paths.ts';
import type { Next } from './provider-types.ts';

export interface TokenStatusOptions {
  readonly artifacts: ArtifactStore;
  readonly keys: readonly JWK[];
  readonly audience: string;
  readonly mayInspect: (client: RegisteredClient, ownerId: string | undefined) => boolean;
}

export function registerTokenStatus(provider: Provider, options: TokenStatusOptions): void {
  const { artifacts, keys, mayInspect } = options;
  const verify = createTokenVerifier({ issuer: provider.issuer, keys });

  const isLive = async (token: OwnToken): Promise<boolean> =>
    token.grantId === undefined || (await provider.Grant.find(token.grantId)) !== undefined;

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
