// Defines the scopes of the Bookings API, which auth grants and bookings checks.

/** By the access that a scope gives: its name below SCOPE_BASE and its description in the OpenAPI document. */
export const bookingsScopes = {
  read: {
    name: 'golf/bookings.read',
    description: 'Read bookings, places, availability, opening hours and closures.',
  },
  write: { name: 'golf/bookings', description: 'Read the same, and manage bookings, holds and webhooks.' },
  schedule: {
    name: 'golf/schedule',
    description: 'Read the same, and manage opening hours and closures; with the scope above, erase bookings.',
  },
} as const;

export type Scopes = Readonly<Record<keyof typeof bookingsScopes, string>>;
/** What an endpoint needs. An erasure needs `write` and `schedule`. */
export type Access = keyof Scopes | 'erase';

export const scopesOf = (scopeBase: string) =>
  Object.fromEntries(
    Object.entries(bookingsScopes).map(([access, { name }]) => [access, `${scopeBase}/${name}`]),
  ) as Scopes;
