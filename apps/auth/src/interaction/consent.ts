// What becomes of somebody's decision about scopes? A new grant with what was ticked and, written down as refused, what was not: else the
// provider would ask again at once. Both are remembered as long as the session (specification, "Scopes" rule 3).
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { type ScopeTable, splitScope } from '../oidc/scopes.ts';
import type { ConsentStore } from './consent-store.ts';

export interface ScopeOnPage {
  readonly name: string;
  readonly title: string;
  readonly detail: string;
  /** May not be declined, so it has no checkbox. */
  readonly needed: boolean;
}

const texts: Readonly<Record<string, readonly [title: string, detail: string]>> = {
  openid: ['Know who you are', 'A number that stands for you at this service.'],
  profile: ['See your profile', 'Your name and user name.'],
  email: ['See your e-mail address', 'And whether it is confirmed.'],
  roles: ['See your roles', 'What you are at driving ranges, such as player or range owner.'],
  offline_access: ['Stay connected', 'Keep access while you are away, until you take it back in your account.'],
};

/** What a driving-range application cannot do without (specification, "Scopes" rule 4). */
const neededAtRange = ['profile', 'roles'];

export function describeScopes(requested: readonly string[], scopes: ScopeTable, clientKind: string): ScopeOnPage[] {
  const custom: Readonly<Record<string, readonly [string, string]>> = {
    [scopes.play]: ['Play at driving ranges', 'See bays and targets, start and end play sessions, follow your shots.'],
    [scopes.bookings]: ['Manage bookings', 'See, make, change and cancel bookings at the facilities you manage.'],
  };
  return requested.map((name) => {
    const [title, detail] = custom[name] ?? texts[name] ?? [name, ''];
    const atRange = clientKind === 'driving-range' && [...neededAtRange, scopes.play].includes(name);
    return { name, title, detail, needed: name === 'openid' || atRange };
  });
}

export interface Decision {
  readonly accountId: string;
  readonly clientId: string;
  readonly requested: readonly string[];
  readonly granted: readonly string[];
  /** The session's grant until now, if it has one. */
  readonly grantId: string | undefined;
}

export interface ConsentOptions {
  readonly provider: () => Provider;
  readonly consents: ConsentStore;
  readonly scopes: ScopeTable;
  readonly audience: string;
}

export function createConsent({ provider, consents, scopes, audience }: ConsentOptions) {
  const makeGrant = async ({
    accountId,
    clientId,
    granted,
    refused,
  }: {
    accountId: string;
    clientId: string;
    granted: readonly string[];
    refused: readonly string[];
  }) => {
    const Grant = provider().Grant;
    const grant = new Grant({ accountId, clientId });
    const custom = (names: readonly string[]) => names.filter((name) => scopes.custom.includes(name)).join(' ');
    const openid = (names: readonly string[]) => names.filter((name) => !scopes.custom.includes(name)).join(' ');
    if (openid(granted)) grant.addOIDCScope(openid(granted));
    if (custom(granted)) grant.addResourceScope(audience, custom(granted));
    if (openid(refused)) grant.rejectOIDCScope(openid(refused));
    if (custom(refused)) grant.rejectResourceScope(audience, custom(refused));
    await grant.save();
    return grant;
  };

  const find = async (grantId: string | undefined, accountId: string, clientId: string) => {
    const grant = grantId === undefined ? undefined : await provider().Grant.find(grantId);
    return grant?.accountId === accountId && grant.clientId === clientId ? grant : undefined;
  };
  type Grant = InstanceType<Provider['Grant']>;
  const allowedBy = (grant: Grant) => splitScope(`${grant.getOIDCScope()} ${grant.getResourceScope(audience)}`);
  const refusedBy = (grant: Grant) =>
    splitScope(`${grant.getRejectedOIDCScope()} ${grant.getRejectedResourceScope(audience)}`);

  return {
    /**
     * Answers the new grant's id. A grant remembers refusals for ever, so a decision never changes an old one: what was decided in this
     * session about other scopes is carried over. What any session allowed is written down for the account's page alone.
     */
    async decide({ accountId, clientId, requested, granted, grantId }: Decision): Promise<string> {
      const isOther = (scope: string) => scope !== '' && !requested.includes(scope);
      const before = await find(grantId, accountId, clientId);
      const kept = before ? allowedBy(before).filter(isOther) : [];
      const keptOut = before ? refusedBy(before).filter(isOther) : [];
      const refused = requested.filter((scope) => !granted.includes(scope));
      const everywhere = (await consents.scopesOf(accountId, clientId)).filter(isOther);
      await consents.remember(accountId, clientId, [...new Set([...everywhere, ...kept, ...granted])]);
      const grant = await makeGrant({
        accountId,
        clientId,
        granted: [...kept, ...granted],
        refused: [...keptOut, ...refused],
      });
      return grant.jti;
    },

    /**
     * `loadExistingGrant` of the provider: what was decided in this session. Another browser, or the same one after signing out, asks
     * again: so a grant, and with it a family of tokens, belongs to one session, and whoever borrows a browser decides for themselves.
     */
    async load(ctx: KoaContextWithOIDC) {
      const { client, session, account, result } = ctx.oidc;
      if (!client || !session || !account) return undefined;
      const grantId = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
      return find(grantId, account.accountId, client.clientId);
    },
  };
}
