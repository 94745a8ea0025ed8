// Which scopes exist, what do they mean, and which of them may be asked for together? Specification, "Scopes"; contract section 6.
// Pure: names and rules, no I/O.

export interface ScopeTable {
  /** Driving-range bays, targets, play sessions, measurements. */
  readonly play: string;
  /** Required to manage bookings. */
  readonly bookings: string;
  readonly custom: readonly string[];
  readonly all: readonly string[];
}

/** Valid only where an id_token is issued along with the access token (rule 2). */
export const openidFamily = ['openid', 'profile', 'email', 'roles'] as const;
export const offlineAccess = 'offline_access';

/** Claims of the id_token and of userinfo, by scope. */
export const claimsOfScopes = {
  openid: ['sub'],
  profile: ['name', 'preferred_username'],
  email: ['email', 'email_verified'],
  roles: ['roles'],
};

export function createScopeTable(scopeBase: string): ScopeTable {
  const play = `${scopeBase}/dr/play`;
  const bookings = `${scopeBase}/golf/bookings`;
  const custom = [play, bookings];
  return { play, bookings, custom, all: [...openidFamily, offlineAccess, ...custom] };
}

export const splitScope = (scope: string | undefined): readonly string[] => [
  ...new Set((scope ?? '').split(' ').filter((name) => name !== '')),
];

export const isOpenidFamily = (scope: string): boolean => (openidFamily as readonly string[]).includes(scope);

export interface ScopeError {
  readonly description: string;
  /** The scopes at fault, space-separated. */
  readonly scope: string;
}

/**
 * What is wrong with asking for `requested`, if anything: nothing asked, a scope that does not exist or that the client may not
 * have, one of the openid family where no id_token is issued, or offline_access to nothing.
 */
export function findScopeError(
  table: ScopeTable,
  request: { requested: readonly string[]; allowed: readonly string[]; issuesIdToken: boolean },
): ScopeError | undefined {
  const { requested, allowed, issuesIdToken } = request;
  if (requested.length === 0) return { description: 'scope is missing', scope: '' };
  const unknown = requested.filter((scope) => !table.all.includes(scope));
  if (unknown.length > 0) return { description: 'requested scope is not known', scope: unknown.join(' ') };
  const family = requested.filter(isOpenidFamily);
  if (family.length > 0 && !(issuesIdToken && requested.includes('openid'))) {
    return {
      description: issuesIdToken
        ? 'the openid scope must be requested along with the scopes of its family'
        : 'scopes of the openid family are valid only when an id_token is requested along with the access token',
      scope: family.join(' '),
    };
  }
  const refused = requested.filter((scope) => !allowed.includes(scope));
  if (refused.length > 0) {
    return { description: 'requested scope is not allowed for this client', scope: refused.join(' ') };
  }
  if (requested.every((scope) => scope === offlineAccess)) {
    return { description: 'ask for a scope that an access token can carry', scope: offlineAccess };
  }
  return undefined;
}
