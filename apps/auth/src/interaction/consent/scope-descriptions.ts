// Describes scopes in words, for the consent page and for the page "Your account".
import type { ScopeTable } from '../../oidc/scopes.ts';

type ScopeText = readonly [title: string, detail: string];

const fixedScopeTexts: Readonly<Record<string, ScopeText>> = {
  openid: ['Know who you are', 'Your unique user ID.'],
  profile: ['See your profile', 'Your name and your user name.'],
  email: ['See your e-mail address', 'Your address, and whether it is confirmed.'],
  roles: ['See your roles', 'Your roles at driving ranges, such as player or range owner.'],
  offline_access: [
    'Stay connected',
    'Keep access while you are not using the application, until you remove it in your account.',
  ],
};

/** The user cannot decline a scope that is `required`. */
export function describeScopes(requested: readonly string[], scopes: ScopeTable, clientKind: string) {
  // The names of these scopes begin with SCOPE_BASE.
  const customScopeTexts: Readonly<Record<string, ScopeText>> = {
    [scopes.play]: [
      'Play at driving ranges',
      'See bays and targets, start and end play sessions, and see the measurements of your shots.',
    ],
    [scopes.read]: ['See bookings', 'View bookings, bays and opening hours at the facilities where you have a role.'],
    [scopes.bookings]: [
      'Manage bookings',
      'View, create, change and cancel bookings at the facilities where you have a role.',
    ],
    [scopes.schedule]: [
      'Manage opening hours and closures',
      'Change opening hours, close bays, and view bookings at the facilities that you manage.',
    ],
  };
  // Driving-range clients cannot work without these scopes (specification, "Scopes", rule 4).
  const requiredScopes = clientKind === 'driving-range' ? ['openid', 'profile', 'roles', scopes.play] : ['openid'];
  return requested.map((name) => {
    const [title, detail] = customScopeTexts[name] ?? fixedScopeTexts[name] ?? [name, ''];
    return { name, title, detail, required: requiredScopes.includes(name) };
  });
}
