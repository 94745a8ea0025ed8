// Serves the page "Your account" and the forms with which users change their own account.
import { type Response, Router } from 'express';
import { mayLinkIdentities } from '../accounts/social-identity-store.ts';
import { type FormError, field, idField } from '../html/forms.ts';
import type { SignedIn } from '../html/signed-in.ts';
import type { SignedInHandler } from '../html/site.ts';
import { validateName } from '../input/field-rules.ts';
import type { SocialRoutes } from '../interaction/sign-in/social-routes.ts';
import type { PageServices } from '../services.ts';
import { otherPurposes } from '../social/store.ts';
import { createPasswordChange } from './change-password.ts';
import { createAccountPage } from './page.ts';

export function accountRoutes(services: PageServices, beginSocial: SocialRoutes['begin']): Router {
  const { site, accounts, socialIdentities, sessionStore, consents, emails, audit } = services;

  const show = createAccountPage(services);
  const showError = (response: Response, signedIn: SignedIn, status: number, error: FormError): Promise<void> =>
    show(response, signedIn, { validationErrors: [error], status });

  const router = Router();
  router.get(
    '/account',
    site.forSignedIn((_request, response, signedIn) => show(response, signedIn)),
  );
  /** Serves a form of a signed-in user below `/account`. If `requireFresh`, the sign-in must be recent. */
  const post = (path: string, handler: SignedInHandler, { requireFresh = false } = {}) =>
    router.post(`/account/${path}`, ...site.formForSignedIn(handler, { requireFresh }));

  post('name', async (request, response, signedIn) => {
    const name = field(request, 'name');
    const nameError = validateName(name, 'Enter your name.');
    if (nameError) return showError(response, signedIn, 400, { field: 'name', text: nameError });
    await accounts.setName(signedIn.account.id, name);
    response.redirect(303, '/account?done=name');
  });

  post('password', createPasswordChange(services, show));

  post('verification', async (_request, response, { account }) => {
    await emails.sendVerification(account);
    response.redirect(303, '/account?done=verification');
  });

  post('sessions/end', async (request, response, { account, sessionId }) => {
    // The form contains the id of the session that must end. A form without an id ends all except the current one.
    const idToEnd = idField(request, 'uid');
    const ended = await sessionStore.end(account.id, idToEnd ? { uid: idToEnd } : { allExcept: sessionId });
    if (ended > 0) {
      audit.record({ kind: 'session.revoked', accountId: account.id, address: request.ip, detail: { ended } });
    }
    if (idToEnd === sessionId) response.redirect(303, '/signed-out');
    else response.redirect(303, idToEnd ? '/account?done=session' : '/account?done=sessions');
  });

  post('applications/revoke', async (request, response, { account }) => {
    const client = idField(request, 'client');
    await consents.revoke(account.id, client);
    audit.record({ kind: 'consent.revoked', accountId: account.id, address: request.ip, detail: { client } });
    response.redirect(303, '/account?done=application');
  });

  post(
    'providers/add',
    (request, response, signedIn) => {
      const { account } = signedIn;
      if (!mayLinkIdentities(account)) {
        const text = 'Confirm your e-mail address before you add another way to sign in.';
        return showError(response, signedIn, 409, { text });
      }
      const purpose = { ...otherPurposes, linkAccountId: account.id };
      return beginSocial(request, response, idField(request, 'provider'), purpose);
    },
    { requireFresh: true },
  );

  post(
    'providers/remove',
    async (request, response, signedIn) => {
      const { account } = signedIn;
      const provider = idField(request, 'provider');
      const outcome = await socialIdentities.unlink(account.id, provider, idField(request, 'subject'));
      if (outcome === 'last') {
        const text = 'This is your only way to sign in. Choose a password first.';
        return showError(response, signedIn, 409, { text });
      }
      if (outcome === 'unlinked') {
        audit.record({ kind: 'social.unlinked', accountId: account.id, address: request.ip, detail: { provider } });
      }
      response.redirect(303, '/account?done=unlinked');
    },
    { requireFresh: true },
  );

  return router;
}
