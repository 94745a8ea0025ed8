// "Your account": what its owner may change and take back by oneself (contract section 5).
import { type Request, type Response, Router } from 'express';
import { field } from '../html/form-body.ts';
import type { SignedIn } from '../interaction/browser-session.ts';
import type { SocialRoutes } from '../social/routes.ts';
import { createPasswordChange, type PasswordChangeOptions } from './change-password.ts';
import { type AccountPageOptions, createAccountPage } from './page.ts';

export interface AccountRoutesOptions extends AccountPageOptions, Omit<PasswordChangeOptions, 'show'> {
  readonly beginSocialSignIn: SocialRoutes['begin'];
}

export function accountRoutes(options: AccountRoutesOptions): Router {
  const { site, accounts, socialIdentities, sessions, consents, mail, audit } = options;
  const show = createAccountPage(options);

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
      const validationErrors = [
        { field: 'name', text: name === '' ? 'Enter your name.' : 'Use 100 characters at most.' },
      ];
      return show(request, response, signedIn, { validationErrors, status: 400 });
    }
    await accounts.setName(signedIn.account.id, name);
    response.redirect(303, '/account?done=name');
  });
  post('password', createPasswordChange({ show, ...options }));
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
      await options.beginSocialSignIn(request, response, field(request, 'provider'), origin);
    },
    true,
  );
  post(
    'providers/remove',
    async (request, response, signedIn) => {
      const provider = field(request, 'provider');
      const outcome = await socialIdentities.unlink(signedIn.account.id, provider, field(request, 'subject'));
      if (outcome === 'last') {
        const text = 'This is your only way to sign in. Choose a password first.';
        return show(request, response, signedIn, { validationErrors: [{ text }], status: 409 });
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
