// "Your account": who you are here, where you are signed in, which applications may act for you, which providers you sign in with; each to
// be taken back by oneself (contract section 5).
import { type Request, type Response, Router } from 'express';
import type { AccountMail } from '../accounts/account-mail.ts';
import { passwordFault } from '../accounts/password-policy.ts';
import { hashPassword, longestPassword } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { FacilityStore } from '../facilities/store.ts';
import { byField, type Fault, inWords } from '../html/faults.ts';
import { field, queryText, rawField } from '../html/form-body.ts';
import { signInAndBack } from '../html/local-path.ts';
import type { Site } from '../html/site.ts';
import type { SignedIn } from '../interaction/browser-session.ts';
import { describeScopes } from '../interaction/consent.ts';
import type { ConsentStore } from '../interaction/consent-store.ts';
import type { SessionStore } from '../interaction/session-store.ts';
import { readableAddress } from '../portal/address.ts';
import { instant } from '../portal/times.ts';
import type { ScopeTable } from '../scopes.ts';
import type { SocialRoutes } from '../social/routes.ts';
import type { SocialProviders } from '../social/settings.ts';
import { describeBrowser } from './browser-name.ts';

export interface AccountPageOptions {
  readonly site: Site;
  readonly accounts: AccountStore;
  readonly sessions: SessionStore;
  readonly consents: ConsentStore;
  readonly facilities: Pick<FacilityStore, 'membershipsOf'>;
  readonly providers: SocialProviders;
  readonly setOut: SocialRoutes['setOut'];
  readonly signIn: SignIn['signIn'];
  readonly mail: AccountMail;
  readonly scopes: ScopeTable;
  readonly audit: Audit;
}

/** What the page says after a change, by the word that the redirect carries. */
const done: Readonly<Record<string, string>> = {
  name: 'Your name is changed.',
  password: 'Your password is changed, and you are signed out everywhere else.',
  session: 'That browser is signed out.',
  sessions: 'You are signed out everywhere else.',
  application: 'The application’s access has ended. An access token that it holds already is good for an hour at most.',
  linked: 'You can sign in with it from now on.',
  unlinked: 'It no longer signs in to this account.',
  verification: 'A link to confirm your address is on its way.',
};

export function accountRoutes(options: AccountPageOptions): Router {
  const { site, accounts, sessions, consents, providers, mail, scopes, audit } = options;

  const show = async (
    request: Request,
    response: Response,
    signedIn: SignedIn,
    { faults = [], status = 200 }: { faults?: readonly Fault[]; status?: number } = {},
  ): Promise<void> => {
    const { account, uid } = signedIn;
    const [browsers, applications, linked, facilities] = await Promise.all([
      sessions.listOf(account.id),
      consents.connected(account.id),
      accounts.linkedIdentities(account.id),
      options.facilities.membershipsOf(account.id),
    ]);
    const data = {
      account,
      faults,
      errors: byField(faults),
      notice: done[queryText(request, 'done') ?? ''],
      instant,
      facilities,
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
    await site.show(request, response, '/account-page/account', data, {
      title: faults.length > 0 ? 'Error: Your account' : 'Your account',
      status,
      width: 'wide',
      // The form that adds a provider.
      leadsAway: providers.size > 0,
    });
  };

  const changePassword = async (request: Request, response: Response, signedIn: SignedIn): Promise<void> => {
    const { account, uid } = signedIn;
    if (!account.passwordHash && !signedIn.fresh) return response.redirect(303, signInAndBack('/account', true));
    const password = rawField(request, 'newPassword');
    const faults: Fault[] = [];
    // Whoever has a password proves it again; it counts as a sign-in for the guard.
    if (account.passwordHash) {
      const current = rawField(request, 'password');
      if (current.length > longestPassword || current === '')
        faults.push({ field: 'password', text: 'Enter your current password.' });
      else {
        const address = request.ip ?? '';
        const outcome = await options.signIn({ username: account.username, password: current, address });
        if ('refused' in outcome && outcome.refused === 'locked') {
          response.setHeader('Retry-After', String(outcome.retryAfter));
          const text = `Too many sign-ins have failed. Wait ${inWords(outcome.retryAfter)} and try again.`;
          return show(request, response, signedIn, { faults: [{ text }], status: 429 });
        }
        if ('refused' in outcome) faults.push({ field: 'password', text: 'That is not your current password.' });
      }
    }
    const text = passwordFault(password, [account.username, account.name ?? '', account.email ?? '']);
    if (text) faults.push({ field: 'newPassword', text });
    if (faults.length > 0) return show(request, response, signedIn, { faults, status: 400 });
    await accounts.setPassword(account.id, await hashPassword(password));
    await sessions.end(account.id, { allBut: uid });
    audit.record({ kind: 'password.changed', accountId: account.id, address: request.ip });
    await mail.tellPasswordChanged(account);
    response.redirect(303, '/account?done=password');
  };

  const router = Router();
  router.get(
    '/account',
    site.forSignedIn((request, response, signedIn) => show(request, response, signedIn)),
  );
  const post = (
    path: string,
    handler: (request: Request, response: Response, signedIn: SignedIn) => Promise<void>,
    fresh = false,
  ) => router.post(`/account/${path}`, ...site.formForSignedIn(handler, { fresh }));

  post('name', async (request, response, signedIn) => {
    const name = field(request, 'name');
    if (name === '' || name.length > 100) {
      const faults = [{ field: 'name', text: name === '' ? 'Enter your name.' : 'Use 100 characters at most.' }];
      return show(request, response, signedIn, { faults, status: 400 });
    }
    await accounts.setName(signedIn.account.id, name);
    response.redirect(303, '/account?done=name');
  });
  post('password', changePassword);
  post('verification', async (_request, response, { account }) => {
    await mail.sendVerification(account);
    response.redirect(303, '/account?done=verification');
  });
  post('sessions/end', async (request, response, { account, uid }) => {
    const which = field(request, 'uid');
    const ended = await sessions.end(account.id, which ? { uid: which } : { allBut: uid });
    if (ended > 0)
      audit.record({ kind: 'session.revoked', accountId: account.id, address: request.ip, detail: { ended } });
    response.redirect(303, which === uid ? '/signed-out' : `/account?done=${which ? 'session' : 'sessions'}`);
  });
  post('applications/revoke', async (request, response, { account }) => {
    const clientId = field(request, 'client');
    await consents.revoke(account.id, clientId);
    audit.record({ kind: 'consent.revoked', accountId: account.id, address: request.ip, detail: { client: clientId } });
    response.redirect(303, '/account?done=application');
  });
  post(
    'providers/add',
    async (request, response, { account }) => {
      const origin = { interactionUid: null, returnTo: null, linkAccountId: account.id };
      await options.setOut(request, response, field(request, 'provider'), origin);
    },
    true,
  );
  post(
    'providers/remove',
    async (request, response, signedIn) => {
      const provider = field(request, 'provider');
      const outcome = await accounts.unlinkSocial(signedIn.account.id, provider, field(request, 'subject'));
      if (outcome === 'last') {
        const text = 'This is your only way to sign in. Choose a password first.';
        return show(request, response, signedIn, { faults: [{ text }], status: 409 });
      }
      if (outcome === 'unlinked') {
        const detail = { provider };
        audit.record({ kind: 'social.unlinked', accountId: signedIn.account.id, address: request.ip, detail });
      }
      response.redirect(303, '/account?done=unlinked');
    },
    true,
  );
  router.use('/account', site.showFailure);
  return router;
}
