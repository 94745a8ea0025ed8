// Serves the page that the link in a confirmation e-mail opens.
//
// Opening the link changes nothing, because mail scanners also open links. One button of the page confirms the address.
// The other one removes every way to sign in to an account that somebody else has registered with the address.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { LinkOwner } from '../../accounts/one-time-link-store.ts';
import { queryText } from '../../html/forms.ts';
import type { MessagePage } from '../../html/site.ts';
import type { PageServices } from '../../services.ts';
import { titleOfProvider } from '../../social/settings.ts';

const csrfContext = 'verify-email';
const purpose = 'verify-email';

const accountLinks = [{ href: '/account', text: 'Your account' }];
const confirmed: MessagePage = {
  title: 'Your address is confirmed',
  text: 'Thank you. You do not need to do anything else.',
  tone: 'good',
  links: accountLinks,
};
const disowned: MessagePage = {
  title: 'Nobody can sign in to the account any more',
  text: 'We signed everybody out of it and removed its password, linked accounts, passkeys and authenticator app. To use the account yourself, choose a password.',
  tone: 'good',
  links: [{ href: '/reset-password', text: 'Choose a password' }],
};
const linkExpired: MessagePage = {
  status: 410,
  title: 'This link no longer works',
  text: 'If you have already used the link, your address is confirmed. If not, request a new link in your account.',
  links: accountLinks,
};

export function emailVerificationRoutes(services: PageServices): Router {
  const { site, accounts, emails, links, factors, socialIdentities, providers, outbox, audit } = services;

  const tokenOf = (request: Request): string => queryText(request, 'token') ?? '';

  const showConfirmation = async (request: Request, response: Response, owner: LinkOwner): Promise<void> => {
    const query = `?token=${encodeURIComponent(tokenOf(request))}`;
    const [account, linked, { passkeys, appSetUpAt }] = await Promise.all([
      accounts.findById(owner.accountId),
      socialIdentities.list(owner.accountId),
      factors.list(owner.accountId),
    ]);
    const data = {
      email: owner.email,
      waysToSignIn: [
        ...(account?.passwordHash ? ['Password'] : []),
        ...linked.map(({ provider, email, subject }) => `${titleOfProvider(providers, provider)}: ${email ?? subject}`),
        ...passkeys.map(({ name }) => `Passkey: ${name}`),
        ...(appSetUpAt ? ['Authenticator app'] : []),
      ],
      confirmPath: `/verify-email${query}`,
      disownPath: `/verify-email/not-me${query}`,
    };
    return site.show(response, 'verify-email', data, { title: 'Confirm your address', csrfContext });
  };

  /** Removes every way to sign in to the account. Returns false if the link no longer works. */
  const disown = async (request: Request): Promise<boolean> => {
    const owner = await links.consume(purpose, tokenOf(request), (tx, { accountId, email }) =>
      accounts.disown(accountId, email, tx),
    );
    if (!owner) return false;
    outbox.wake();
    audit.record({ kind: 'account.disowned', accountId: owner.accountId, address: request.ip });
    return true;
  };

  const router = Router();
  const post = (path: string, handler: RequestHandler) => router.post(path, ...site.form(() => csrfContext, handler));

  router.get('/verify-email', async (request, response) => {
    const owner = await links.find(purpose, tokenOf(request));
    return owner ? showConfirmation(request, response, owner) : site.showMessage(response, linkExpired);
  });
  post('/verify-email', async (request, response) => {
    const verified = await emails.verifyEmail(tokenOf(request), request.ip);
    return site.showMessage(response, verified ? confirmed : linkExpired);
  });
  post('/verify-email/not-me', async (request, response) =>
    site.showMessage(response, (await disown(request)) ? disowned : linkExpired),
  );
  return router;
}
