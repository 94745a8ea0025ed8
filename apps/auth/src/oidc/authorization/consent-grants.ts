// Stores the scopes that a user granted or declined to a client as a grant of oidc-provider. Decides when a request
// needs no consent page. If declined scopes were not stored, the library would ask for them again.
import { isLoopback } from '@bay-booking/service/public-address';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { ownMetadataOf, type RegisteredClient } from '../clients/registered-client.ts';
import { splitScope } from '../scopes.ts';
import type { ResourceServer } from '../tokens/resource-server.ts';
import { orUnavailable } from '../unavailable.ts';

export interface GrantOwner {
  readonly accountId: string;
  readonly clientId: string;
}

export interface DecidedScopes {
  readonly granted: readonly string[];
  readonly declined: readonly string[];
}

export type ConsentGrants = ReturnType<typeof createConsentGrants>;
type Grant = InstanceType<Provider['Grant']>;

export function createConsentGrants(provider: () => Provider, resource: ResourceServer) {
  return {
    async find(grantId: string | undefined, owner: GrantOwner): Promise<DecidedScopes | undefined> {
      const grant = await findGrant(provider(), grantId, owner);
      return grant && decisionsOf(grant, resource);
    },

    create: async (owner: GrantOwner, decided: DecidedScopes): Promise<string> =>
      (await createGrant(provider(), resource, owner, decided)).jti,
  };
}

/** Finds what a user decided in any browser. */
export interface ConsentFinder {
  readonly find: (owner: GrantOwner) => Promise<DecidedScopes | undefined>;
}

const nothingDecided: DecidedScopes = { granted: [], declined: [] };

/**
 * Returns the setting `loadExistingGrant`. A session has its own grant, so that its tokens belong to it. If that grant
 * leaves out a requested scope, the decision of another session counts, in a new grant.
 */
export function createGrantLoader(
  resource: ResourceServer,
  consents: ConsentFinder,
): Configuration['loadExistingGrant'] {
  return async (ctx) => {
    const { client, session, account, result, params, prompts } = ctx.oidc;
    if (!client || !session || !account) return undefined;
    const owner = { accountId: account.accountId, clientId: client.clientId };
    const provider = ctx.oidc.provider as Provider;
    const grant = await findGrant(provider, result?.consent?.grantId ?? session.grantIdFor(client.clientId), owner);
    if (result?.consent || prompts.has('consent')) return grant;

    const requested = splitScope(params?.scope as string | undefined);
    const here = grant ? decisionsOf(grant, resource) : nothingDecided;
    if (requested.every((scope) => here.granted.includes(scope))) return grant;
    const decidedElsewhere = async () =>
      (canBeImitated(ctx, client) ? undefined : await orUnavailable(() => consents.find(owner))) ?? nothingDecided;
    const elsewhere = ownMetadataOf(client).skip_consent
      ? { granted: requested, declined: [] }
      : await decidedElsewhere();

    // The stored scopes have no order. Those of a token are in the order of the request.
    const requestedOf = (scopes: readonly string[]) => requested.filter((scope) => scopes.includes(scope));
    const granted = new Set([...here.granted, ...requestedOf(elsewhere.granted)]);
    const declined = new Set([...here.declined, ...requestedOf(elsewhere.declined)]).difference(granted);
    const isNew = granted.size > here.granted.length || declined.size > here.declined.length;
    // If one scope is not decided, the consent page shows all that are requested.
    if (!isNew || !requested.every((scope) => granted.has(scope) || declined.has(scope))) return grant;
    return createGrant(provider, resource, owner, { granted: [...granted], declined: [...declined] });
  };
}

/**
 * Whether another program on the user's device could use the client id and the redirect URI (RFC 8252 section 8.6). The
 * user must then see each request.
 */
export function canBeImitated({ oidc }: KoaContextWithOIDC, client: RegisteredClient): boolean {
  const { redirect_uri: redirectUri } = oidc.params ?? {};
  const uris = typeof redirectUri === 'string' ? [redirectUri] : (client.redirectUris ?? []);
  return client.clientAuthMethod === 'none' && uris.some((uri) => !/^https?:/i.test(uri) || isLoopback(uri));
}

function decisionsOf(grant: Grant, { audience }: ResourceServer): DecidedScopes {
  return {
    granted: splitScope(`${grant.getOIDCScope()} ${grant.getResourceScope(audience)}`),
    declined: splitScope(`${grant.getRejectedOIDCScope()} ${grant.getRejectedResourceScope(audience)}`),
  };
}

async function createGrant(
  provider: Provider,
  { audience, isCustom }: ResourceServer,
  owner: GrantOwner,
  { granted, declined }: DecidedScopes,
): Promise<Grant> {
  const grant = new provider.Grant({ accountId: owner.accountId, clientId: owner.clientId });
  const custom = (names: readonly string[]): string => names.filter(isCustom).join(' ');
  const standard = (names: readonly string[]): string => names.filter((name) => !isCustom(name)).join(' ');
  if (standard(granted)) grant.addOIDCScope(standard(granted));
  if (custom(granted)) grant.addResourceScope(audience, custom(granted));
  if (standard(declined)) grant.rejectOIDCScope(standard(declined));
  if (custom(declined)) grant.rejectResourceScope(audience, custom(declined));
  await grant.save();
  return grant;
}

async function findGrant(provider: Provider, grantId: string | undefined, { accountId, clientId }: GrantOwner) {
  const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  return grant?.accountId === accountId && grant.clientId === clientId ? grant : undefined;
}
