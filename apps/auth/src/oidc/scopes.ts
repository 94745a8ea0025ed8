// Defines the scopes and decides who may have which combination of scopes (specification, "Scopes").
import { scopesOf } from '@bay-booking/common/scopes';
import type { TokenAccess } from '../clients/metadata.ts';
import type { FacilityRole } from '../facilities/roles.ts';

export type ScopeTable = ReturnType<typeof createScopeTable>;

/** To add a claim, also return its value from `claimsOf` (tokens/claims.ts). */
export const claimsByScope = {
  openid: ['sub', 'amr'],
  profile: ['name', 'preferred_username'],
  email: ['email', 'email_verified'],
  roles: ['roles'],
};
/** Only for requests that also get an id_token (docs/behaviour-auth.md, "Scopes"). */
export const openidFamily: readonly string[] = Object.keys(claimsByScope);
export const offlineAccess = 'offline_access';

export function createScopeTable(scopeBase: string) {
  const play = `${scopeBase}/dr/play`;
  const { read, write: bookings, schedule } = scopesOf(scopeBase);
  // A token with one of these scopes names the facilities where its subject has the rights for them.
  const ofFacilities = Object.values(scopesOf(scopeBase));
  // The scopes of the management APIs. Metadata documents do not list them.
  const operateAuth = `${scopeBase}/operate/auth`;
  const operateBookings = `${scopeBase}/operate/bookings`;
  const operate = [operateAuth, operateBookings];
  const custom = [play, ...ofFacilities];
  const all = [...openidFamily, offlineAccess, ...custom];
  return {
    play,
    read,
    bookings,
    schedule,
    operateAuth,
    operate,
    custom,
    ofFacilities,
    all,
    known: [...all, ...operate],
  };
}

/** The scopes of the Bookings API that a role at a facility gives a right to. */
export const scopesOfRole = (role: FacilityRole, { ofFacilities, schedule }: ScopeTable): readonly string[] =>
  role === 'bookings-manager' ? ofFacilities.filter((scope) => scope !== schedule) : ofFacilities;

/** The scopes that a personal access token may request. */
export const scopesOfAccess = (access: TokenAccess, { read, bookings, ofFacilities }: ScopeTable): readonly string[] =>
  ({ read: [read], write: [read, bookings], manage: ofFacilities })[access];

export const splitScope = (scope: string | undefined): readonly string[] => [
  ...new Set((scope ?? '').split(' ').filter((name) => name !== '')),
];

/** oidc-provider would reject extra spaces. */
export const normaliseScope = (scope: string): string => splitScope(scope).join(' ');

export const isOpenidFamily = (scope: string): boolean => openidFamily.includes(scope);

/** `scope` in the result is space-separated. */
export function findScopeError(
  table: ScopeTable,
  request: {
    requested: readonly string[];
    allowed: readonly string[];
    issuesIdToken: boolean;
    /** Whether the description names the scopes that are allowed. */
    namesAllowed?: boolean;
  },
): { description: string; scope: string } | undefined {
  const { requested, allowed, issuesIdToken, namesAllowed } = request;
  if (requested.length === 0) return { description: 'scope is missing', scope: '' };
  const unknown = requested.filter((scope) => !table.known.includes(scope));
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
  const notAllowed = requested.filter((scope) => !allowed.includes(scope));
  if (notAllowed.length > 0) {
    const usable = allowed.filter((scope) => issuesIdToken || !isOpenidFamily(scope));
    const names = namesAllowed ? `, which may request: ${usable.join(' ')}` : '';
    return { description: `requested scope is not allowed for this client${names}`, scope: notAllowed.join(' ') };
  }
  if (requested.length > 1 && requested.some((scope) => table.operate.includes(scope))) {
    return { description: 'the scope of a management API must be requested alone', scope: requested.join(' ') };
  }
  if (requested.every((scope) => scope === offlineAccess)) {
    return { description: 'request a scope that an access token can contain', scope: offlineAccess };
  }
  return undefined;
}
