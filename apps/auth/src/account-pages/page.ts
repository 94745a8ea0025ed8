// Shows the page "Your account" with the profile, the connected applications, the sessions and the ways to sign in.
import type { Response } from 'express';
import { mayLinkIdentities } from '../accounts/social-identity-store.ts';
import { roleNames } from '../facilities/roles.ts';
import { queryText, textOfKey } from '../html/forms.ts';
import type { SignedIn } from '../html/signed-in.ts';
import type { FormState } from '../html/site.ts';
import { describeScopes } from '../interaction/consent/scope-descriptions.ts';
import type { PageServices } from '../services.ts';
import { titleOfProvider } from '../social/settings.ts';
import { describeBrowser } from './browser-name.ts';

export type ShowAccount = (response: Response, signedIn: SignedIn, state?: FormState) => Promise<void>;

/** The texts that confirm a change. The query parameter `done` of the page is the key of a text. */
const notices: Readonly<Record<string, string>> = {
  name: 'Your name was changed.',
  password:
    'Your password was changed, and you are signed out everywhere else. ' +
    'Within 15 seconds, the access tokens of applications stop working.',
  session: 'That browser is signed out.',
  sessions: 'You are signed out everywhere else.',
  application:
    'The application no longer has access. Within 15 seconds, the access tokens that it already has stop working.',
  linked: 'You can now sign in with this provider.',
  'link-cancelled': 'You cancelled. The provider was not added.',
  unlinked: 'You can no longer sign in with this provider.',
  verification: "We've sent you a link to confirm your address.",
};

export function createAccountPage(services: PageServices): ShowAccount {
  const { site, factors, socialIdentities, sessionStore, consents, members, providers, scopes } = services;
  return async (response, signedIn, state) => {
    const { account, sessionId } = signedIn;
    const [browsers, applications, linked, memberships, hasSecondFactor] = await Promise.all([
      sessionStore.findByAccount(account.id),
      consents.findConnectedClients(account.id),
      socialIdentities.list(account.id),
      members.findFacilities(account.id),
      factors.hasSecondFactor(account.id),
    ]);
    const data = {
      account,
      roles: [
        ...account.roles.map(accountRoleName),
        ...memberships.map(({ role, name }) => `${roleNames[role]} at ${name}`),
      ],
      hasSecondFactor,
      hasPortal: memberships.length > 0,
      browsers: browsers.map((row) => ({
        ...row,
        isThisBrowser: row.uid === sessionId,
        name: describeBrowser(row.userAgent),
      })),
      applications: applications.map((client) => ({
        ...client,
        // The kind of the client only decides which scopes are required, which this page does not show.
        permissions: describeScopes(client.scopes, scopes, '').map(({ title }) => title),
      })),
      linked: linked.map((identity) => ({ ...identity, title: titleOfProvider(providers, identity.provider) })),
      mayAddProvider: mayLinkIdentities(account),
      addableProviders: [...providers.values()].filter(({ name }) => !linked.some(({ provider }) => provider === name)),
      isOnlyWayToSignIn: !account.passwordHash && linked.length === 1,
    };
    await site.show(response, '/account-pages/account', data, {
      title: 'Your account',
      width: 'wide',
      notice: textOfKey(notices, queryText(response.req, 'done')),
      script: true,
      // The form that adds a sign-in provider redirects to that provider.
      allowExternalFormTargets: providers.size > 0,
      ...state,
    });
  };
}

/** Formats the name of a role: `range-owner` becomes `Range owner`. */
const accountRoleName = (role: string): string =>
  `${role.charAt(0).toUpperCase()}${role.slice(1).replaceAll('-', ' ')}`;
