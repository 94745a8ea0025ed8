// Serves the pages for a forgotten password. The user requests a link by e-mail, and chooses a new password with it.
//
// The response to the request for a link does not reveal whether the account exists.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Account } from '../../accounts/store.ts';
import { field, queryText, tooMany } from '../../html/forms.ts';
import { hashNewPassword } from '../../html/new-password.ts';
import type { FormState, MessagePage, SignedInHandler } from '../../html/site.ts';
import type { PageServices } from '../../services.ts';

const csrfContext = 'password-reset';
const purpose = 'reset-password';

const linkExpired: MessagePage = {
  status: 410,
  title: 'This link no longer works',
  text: 'The link was already used or has expired, or we sent a newer link. Use the newest link, or get a new one.',
  links: [
    { href: '/reset-password', text: 'Get a new link' },
    { href: '/sign-in', text: 'Sign in' },
  ],
};

export function passwordResetRoutes(services: PageServices): Router {
  const { site, accounts, links, emails, outbox, tokenStore, audit } = services;
  const { resetLinkLimit, newPasswordLimit, attempts, startSession } = services;

  const showRequest = (response: Response, state: FormState = {}): Promise<void> => {
    const username = field(response.req, 'username');
    return site.show(response, 'reset-request', { username }, { title: 'Reset your password', csrfContext, ...state });
  };

  const showNewPassword = (response: Response, username: string, state: FormState = {}): Promise<void> => {
    const action = `/reset-password/new?token=${encodeURIComponent(tokenOf(response.req))}`;
    const page = { title: 'Choose a new password', csrfContext, ...state };
    return site.show(response, 'reset-new', { username, action }, page);
  };

  /** Runs the handler if the link still works and its account is not disabled. */
  const withAccount =
    (handler: (request: Request, response: Response, account: Account) => Promise<void>): RequestHandler =>
    async (request, response) => {
      const owner = await links.find(purpose, tokenOf(request));
      const account = owner && (await accounts.findById(owner.accountId));
      if (!account || account.disabledAt) return site.showMessage(response, linkExpired);
      return handler(request, response, account);
    };

  const requestLink: RequestHandler = async (request, response) => {
    const username = field(request, 'username');
    if (!username) {
      const error = { field: 'username', text: 'Enter your e-mail address or user name.' };
      return showRequest(response, { validationErrors: [error], status: 400 });
    }
    const retryAfter = await resetLinkLimit.use(request.ip ?? '');
    if (retryAfter > 0) {
      return showRequest(response, tooMany(response, retryAfter, 'Too many links were requested.'));
    }
    // Works in the background, so that the response time does not reveal whether the account exists.
    emails.sendReset(username, request.ip);
    return site.showMessage(response, {
      title: 'Check your e-mail',
      text:
        `If there is an account for ${username}, we have sent a link to its e-mail address. ` +
        'Choose a new password with this link. The link expires after 30 minutes.',
      tone: 'good',
      links: [{ href: '/sign-in', text: 'Back to sign-in' }],
    });
  };

  const changePassword = withAccount(async (request, response, account) => {
    const { id, username } = account;
    const about = [username, account.name ?? '', account.email ?? ''];
    const chosen = await hashNewPassword(response, { about, limit: newPasswordLimit, limitKey: id });
    if ('errors' in chosen) return showNewPassword(response, username, chosen.errors);
    const { passwordHash } = chosen;
    // Of several requests with the same link, only one gets the owner.
    const owner = await links.consume(purpose, tokenOf(request), async (tx, { email }) => {
      await accounts.recover(id, { passwordHash, email }, tx);
      return true;
    });
    if (!owner) return site.showMessage(response, linkExpired);
    outbox.wake();
    await attempts.resetFailures(account);
    audit.record({ kind: 'password.reset', accountId: id, address: request.ip });
    await emails.sendPasswordChanged(account);
    const user = { account: { ...account, passwordHash }, amr: ['pwd'] };
    await startSession(request, response, user, { returnTo: '/reset-password/done' });
  });

  const showDone: SignedInHandler = async (_request, response, { account }) => {
    const page = { title: 'Your password was changed', tone: 'good' } as const;
    const text = 'You are signed in here with the new password, and signed out everywhere else.';
    const tokens = (await tokenStore.list(account.id)).filter(({ isActive }) => isActive);
    if (tokens.length === 0) {
      return site.showMessage(response, { ...page, text, links: [{ href: '/account', text: 'Your account' }] });
    }
    const names = tokens.map(({ name }) => name || 'Unnamed').join(', ');
    const tokenText = `These personal access tokens still work: ${names}. Revoke any that you don’t recognise.`;
    const toTokens = [{ href: '/portal', text: 'Review and revoke tokens' }];
    return site.showMessage(response, { ...page, text: `${text} ${tokenText}`, links: toTokens });
  };

  const form = (handler: RequestHandler) => site.form(() => csrfContext, handler);

  const router = Router();
  router.get('/reset-password', (_request, response) => showRequest(response));
  router.post('/reset-password', ...form(requestLink));
  router.get(
    '/reset-password/new',
    withAccount((_request, response, { username }) => showNewPassword(response, username)),
  );
  router.post('/reset-password/new', ...form(changePassword));
  router.get('/reset-password/done', site.forSignedIn(showDone));
  return router;
}

/** Returns the token of the link. The empty string, which no link contains, stands for a missing token. */
const tokenOf = (request: Request): string => queryText(request, 'token') ?? '';
