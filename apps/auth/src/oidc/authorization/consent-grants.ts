// Stores which scopes a user granted to a client and which the user declined, as a grant of oidc-provider. The declined
// scopes are stored because the library would otherwise ask for them again at the next request.
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { splitScope } from '../scopes.ts';
import type { ResourceServer } from '../tokens/resource-server.ts';

export interface GrantOwner {
  readonly accountId: string;
  readonly clientId: string;
}

export interface DecidedScopes {
  readonly granted: readonly string[];
  readonly declined: readonly string[];
}

export type ConsentGrants = ReturnType<typeof createConsentGrants>;

/** `provider` returns the current provider. A new provider replaces it when the signing keys are rotated. */
export function createConsentGrants(provider: () => Provider, { audience, isCustom }: ResourceServer) {
  return {
    /** Returns undefined if there is no such grant, or if the grant belongs to another account or client. */
    async find(grantId: string | undefined, owner: GrantOwner): Promise<DecidedScopes | undefined> {
      const grant = await findGrant(provider(), grantId, owner);
      return (
        grant && {
          granted: splitScope(`${grant.getOIDCScope()} ${grant.getResourceScope(audience)}`),
          declined: splitScope(`${grant.getRejectedOIDCScope()} ${grant.getRejectedResourceScope(audience)}`),
        }
      );
    },

    async create(owner: GrantOwner, { granted, declined }: DecidedScopes): Promise<string> {
      const { Grant } = provider();
      const grant = new Grant({ accountId: owner.accountId, clientId: owner.clientId });
      // Our own scopes belong to the audience of the Bookings API. The scopes of OpenID Connect have no audience.
      const custom = (names: readonly string[]): string => names.filter(isCustom).join(' ');
      const standard = (names: readonly string[]): string => names.filter((name) => !isCustom(name)).join(' ');
      if (standard(granted)) grant.addOIDCScope(standard(granted));
      if (custom(granted)) grant.addResourceScope(audience, custom(granted));
      if (standard(declined)) grant.rejectOIDCScope(standard(declined));
      if (custom(declined)) grant.rejectResourceScope(audience, custom(declined));
      await grant.save();
      return grant.jti;
    },
  };
}

/**
 * The setting `loadExistingGrant` of oidc-provider. Finds the grant that the user gave this client in this session. A
 * grant of another session is not found. In another browser, and after signing out, the consent page therefore appears
 * again, and such a grant and its tokens belong to exactly one session.
 */
export async function loadExistingGrant(ctx: KoaContextWithOIDC) {
  const { client, session, account, result, provider } = ctx.oidc;
  if (!client || !session || !account) return undefined;
  // `result` is the result of the interaction that ends in this request, for example of the consent page.
  const grantId = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  return findGrant(provider as Provider, grantId, { accountId: account.accountId, clientId: client.clientId });
}

async function findGrant(provider: Provider, grantId: string | undefined, { accountId, clientId }: GrantOwner) {
  const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  return grant?.accountId === accountId && grant.clientId === clientId ? grant : undefined;
}
