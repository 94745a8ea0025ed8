// Stores the scopes that a user granted or declined to a client as a grant of oidc-provider. If declined scopes were
// not stored, the library would ask for them again.
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

export function createConsentGrants(provider: () => Provider, { audience, isCustom }: ResourceServer) {
  return {
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

/** The setting `loadExistingGrant`. Finds only the grant of this session, so that its tokens belong to one session. */
export async function loadExistingGrant(ctx: KoaContextWithOIDC) {
  const { client, session, account, result, provider } = ctx.oidc;
  if (!client || !session || !account) return undefined;
  const grantId = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  return findGrant(provider as Provider, grantId, { accountId: account.accountId, clientId: client.clientId });
}

async function findGrant(provider: Provider, grantId: string | undefined, { accountId, clientId }: GrantOwner) {
  const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  return grant?.accountId === accountId && grant.clientId === clientId ? grant : undefined;
}
