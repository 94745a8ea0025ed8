// What "your account" shows: who you are, where you are signed in, which applications may act for you, which providers you sign in with.
import type { Request, Response } from 'express';
import type { SocialIdentityStore } from '../accounts/social-identity-store.ts';
import type { FacilityStore } from '../facilities/store.ts';
import { queryText } from '../html/form-body.ts';
import type { Site } from '../html/site.ts';
import { byField, type ValidationError } from '../html/validation-errors.ts';
import type { SignedIn } from '../interaction/browser-session.ts';
import { describeScopes } from '../interaction/consent.ts';
import type { ConsentStore } from '../interaction/consent-store.ts';
import type { SessionStore } from '../interaction/session-store.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import { readableAddress } from '../portal/address.ts';
import { instant } from '../portal/time-format.ts';
import type { SocialProviders } from '../social/settings.ts';
import { describeBrowser } from './browser-name.ts';

export interface AccountPageOptions {
  readonly site: Site;
  readonly socialIdentities: SocialIdentityStore;
  readonly sessions: SessionStore;
  readonly consents: ConsentStore;
  readonly facilities: Pick<FacilityStore, 'membershipsOf'>;
  readonly providers: SocialProviders;
  readonly scopes: ScopeTable;
}

export type ShowAccount = (
  request: Request,
  response: Response,
  signedIn: SignedIn,
  refused?: { readonly validationErrors: readonly ValidationError[]; readonly status: number },
) => Promise<void>;

/** What the page says after a change, by the word that the redirect carries. */
const done: Readonly<Record<string, string>> = {
  name: 'Your name is changed.',
  password: 'Your password is changed, and you are signed out everywhere else.',
  session: 'That browser is signed out.',
  sessions: 'You are signed out everywhere else.',
  application: 'The application’s access has ended. An access token that it holds already is good for an hour at most.',
  linked: 'You can sign in with it from now on.',
  'link-cancelled': 'You cancelled. The provider was not added.',
  unlinked: 'It no longer signs in to this account.',
  verification: 'A link to confirm your address is on its way.',
};

export function createAccountPage(options: AccountPageOptions): ShowAccount {
  const { site, socialIdentities, sessions, consents, facilities, providers, scopes } = options;
  return async (request, response, signedIn, { validationErrors, status } = { validationErrors: [], status: 200 }) => {
    const { account, uid } = signedIn;
    const [browsers, applications, linked, memberships] = await Promise.all([
      sessions.listOf(account.id),
      consents.connected(account.id),
      socialIdentities.list(account.id),
      facilities.membershipsOf(account.id),
    ]);
    const data = {
      account,
      validationErrors,
      errors: byField(validationErrors),
      notice: done[queryText(request, 'done') ?? ''],
      instant,
      facilities: memberships,
      browsers: browsers.map((row) => ({
        ...row,
        address: readableAddress(row.address),
        here: row.uid === uid,
        name: describeBrowser(row.userAgent),
      })),
      applications: applications.map((client) => ({
        ...client,
        may: describeScopes(client.scopes, scopes, '').map(({ title }) => title),
      })),
      linked: linked.map((entry) => ({ ...entry, title: providers.get(entry.provider)?.title ?? entry.provider })),
      linkable: [...providers.values()].filter(({ name }) => !linked.some((entry) => entry.provider === name)),
      lastWayIn: !account.passwordHash && linked.length === 1,
    };
    await site.show(request, response, '/account/account', data, {
      title: validationErrors.length > 0 ? 'Error: Your account' : 'Your account',
      status,
      width: 'wide',
      // The form that adds a provider.
      allowExternalFormTargets: providers.size > 0,
    });
  };
}
