// What becomes of somebody's decision about scopes? A new grant with what was ticked and, written down as refused, what was not. Both are
// remembered as long as the session (specification, "Scopes" rule 3).
import type { ConsentGrants } from '../oidc/consent-grants.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
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
  readonly grants: ConsentGrants;
  readonly consents: ConsentStore;
}

export function createConsent({ grants, consents }: ConsentOptions) {
  return {
    /**
     * Answers the new grant's id. A grant remembers refusals for ever, so a decision never changes an old one: what was decided in this
     * session about other scopes is carried over. What any session allowed is written down for the account's page alone.
     */
    async decide({ accountId, clientId, requested, granted, grantId }: Decision): Promise<string> {
      const isOther = (scope: string) => !requested.includes(scope);
      const owner = { accountId, clientId };
      const before = await grants.find(grantId, owner);
      const kept = before ? before.granted.filter(isOther) : [];
      const keptOut = before ? before.declined.filter(isOther) : [];
      const refused = requested.filter((scope) => !granted.includes(scope));
      const everywhere = (await consents.scopesOf(accountId, clientId)).filter(isOther);
      await consents.remember(accountId, clientId, [...new Set([...everywhere, ...kept, ...granted])]);
      return grants.create(owner, { granted: [...kept, ...granted], declined: [...keptOut, ...refused] });
    },
  };
}
