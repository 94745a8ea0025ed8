// Serves the pages for a forgotten password. The user requests a link by e-mail, and chooses a new password with this
// link. The response to the request for a link does not reveal whether the account exists.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { AccountEmails } from '../../accounts/account-emails.ts';
import type { OneTimeLinks } from '../../accounts/one-time-link-store.ts';
import { validateNewPassword } from '../../accounts/password-policy.ts';
import { hashPassword } from '../../accounts/passwords.ts';
import type { AccountStore } from '../../accounts/store.ts';
import type { Audit } from '../../audit/audit.ts';
import type { UsageLimit } from '../../guard/usage-limit.ts';
import { field, queryText, rawField } from '../../html/form-body.ts';
import type { SignedInHandler, Site } from '../../html/site.ts';
import { setRetryAfterAndExplain, type ValidationError } from '../../html/validation-errors.ts';
import type { BrowserSessions } from './browser-session.ts';

export interface PasswordResetOptions {
  readonly site: Site;
  readonly sessions: Pick<BrowserSessions, 'start'>;
  readonly accounts: AccountStore;
  readonly links: OneTimeLinks;
  readonly emails: Pick<AccountEmails, 'sendReset' | 'sendPasswordChanged'>;
  /** Limits how many links are requested from one IP address. */
  readonly linkLimit: UsageLimit;
  /** Limits how many new passwords are tried for one account, because estimating their strength takes much CPU time. */
  readonly newPasswordLimit: UsageLimit;
  /** Ends every session, grant and token of an account. */
  readonly signOutEverywhere: (accountId: string) => Promise<void>;
  /** Deletes the count of a user name's failed sign-ins, which also ends a lockout. */
  readonly resetFailures: (username: string) => Promise<void>;
  /** Returns the names of a service account's personal access tokens that still work. */
  readonly findActiveTokenNames: (accountId: string) => Promise<readonly string[]>;
  readonly audit: Audit;
}

const csrfContext = 'password-reset';
const purpose = 'reset-password';

export function passwordResetRoutes(options: PasswordResetOptions): Router {
  const {
    site,
    sessions,
    accounts,
    links,
    emails,
    linkLimit,
    newPasswordLimit,
    signOutEverywhere,
    resetFailures,
    findActiveTokenNames,
    audit,
  } = options;

  const showRequest = (
    request: Request,
    response: Response,
    state: { validationErrors?: readonly ValidationError[]; status?: number } = {},
  ): Promise<void> =>
    site.show(
      request,
      response,
      'reset-request',
      { username: field(request, 'username') },
      { title: 'Reset your password', csrfContext, ...state },
    );

  const showNewPassword = (
    request: Request,
    response: Response,
    {
      token,
      username,
      ...state
    }: { token: string; username: string; validationErrors?: ValidationError[]; status?: number },
  ): Promise<void> =>
    site.show(
      request,
      response,
      'reset-new',
      { username, action: `/reset-password/new?token=${encodeURIComponent(token)}` },
      { title: 'Choose a new password', csrfContext, ...state },
    );

  const showLinkExpired = (request: Request, response: Response): Promise<void> =>
    site.showMessage(request, response, {
      status: 410,
      title: 'This link no longer works',
      text: 'The link was already used or has expired, or we sent a newer link. Use the newest link, or get a new one.',
      tone: 'bad',
      links: [
        { href: '/reset-password', text: 'Get a new link' },
        { href: '/sign-in', text: 'Sign in' },
      ],
    });

  /** Returns the token of the link. The empty string, which no link contains, stands for a missing token. */
  const tokenOf = (request: Request): string => queryText(request, 'token') ?? '';

  /**
   * Finds the account to which the link belongs. Returns undefined if the link no longer works, or if the account is
   * disabled.
   */
  const findAccount = async (token: string) => {
    const owner = await links.find(purpose, token);
    const account = owner && (await accounts.findById(owner.accountId));
    return account?.disabledAt ? undefined : account;
  };

  const requestLink: RequestHandler = async (request, response) => {
    const username = field(request, 'username');
    if (!username) {
      const validationErrors = [{ field: 'username', text: 'Enter your e-mail address or user name.' }];
      return showRequest(request, response, { validationErrors, status: 400 });
    }
    const retryAfter = await linkLimit.use(request.ip ?? '');
    if (retryAfter > 0) {
      const validationErrors = [
        { text: setRetryAfterAndExplain(response, retryAfter, 'Too many links were requested.') },
      ];
      return showRequest(request, response, { validationErrors, status: 429 });
    }
    // The account is looked up and its e-mail is queued in the background. The response time therefore does not reveal
    // whether the account exists.
    emails.sendReset(username, request.ip);
    return site.showMessage(request, response, {
      title: 'Check your e-mail',
      text:
        `If there is an account for ${username}, we have sent a link to its e-mail address. ` +
        'Choose a new password with this link. The link expires after 30 minutes.',
      tone: 'good',
      links: [{ href: '/sign-in', text: 'Back to sign-in' }],
    });
  };

  const openLink: RequestHandler = async (request, response) => {
    const token = tokenOf(request);
    const account = await findAccount(token);
    if (!account) return showLinkExpired(request, response);
    return showNewPassword(request, response, { token, username: account.username });
  };

  const changePassword: RequestHandler = async (request, response) => {
    const token = tokenOf(request);
    const account = await findAccount(token);
    if (!account) return showLinkExpired(request, response);
    const { username } = account;
    const password = rawField(request, 'password');
    const showError = (status: number, validationError: ValidationError) =>
      showNewPassword(request, response, { token, username, validationErrors: [validationError], status });
    const retryAfter = await newPasswordLimit.use(account.id);
    if (retryAfter > 0) {
      return showError(429, { text: setRetryAfterAndExplain(response, retryAfter, 'Too many passwords were tried.') });
    }
    const passwordError = await validateNewPassword(password, [username, account.name ?? '', account.email ?? '']);
    if (passwordError) return showError(400, { field: 'password', text: passwordError });
    const passwordHash = await hashPassword(password);
    // A link works once. If several requests use the same link at the same time, `consume` returns the owner to only
    // one of them.
    const owner = await links.consume(purpose, token);
    if (!owner) return showLinkExpired(request, response);
    // By opening the link, the user has proved to own the address to which the link was mailed. The address becomes
    // verified, and social identities that were linked before the address was first verified are removed.
    await accounts.recover(account.id, { passwordHash, email: owner.email });
    await signOutEverywhere(account.id);
    await resetFailures(username);
    audit.record({ kind: 'password.reset', accountId: account.id, address: request.ip });
    await emails.sendPasswordChanged(account);
    // The link has proved who the user is, so the user is signed in. The sign-in also gives the browser a device
    // cookie, which is signed with the new password hash. With this cookie, a lockout that somebody else causes does
    // not affect this browser.
    await sessions.start(request, response, { account: { ...account, passwordHash }, amr: ['pwd'] });
    response.redirect(303, '/reset-password/done');
  };

  const showDone: SignedInHandler = async (request, response, { account }) => {
    const page = { title: 'Your password is changed', tone: 'good' } as const;
    const text = 'You are signed in here with the new password, and signed out everywhere else.';
    const tokens = await findActiveTokenNames(account.id);
    if (tokens.length === 0) {
      const links = [{ href: '/account', text: 'Your account' }];
      return site.showMessage(request, response, { ...page, text, links });
    }
    const tokenText = `These personal access tokens still work: ${tokens.join(', ')}. Revoke those that you do not know.`;
    const links = [{ href: '/portal', text: 'Review and revoke tokens' }];
    return site.showMessage(request, response, { ...page, text: `${text} ${tokenText}`, links });
  };

  const form = (handler: RequestHandler) => site.form(() => csrfContext, handler);

  const router = Router();
  router.get('/reset-password', (request, response) => showRequest(request, response));
  router.post('/reset-password', ...form(requestLink));
  router.get('/reset-password/new', openLink);
  router.post('/reset-password/new', ...form(changePassword));
  router.get('/reset-password/done', site.forSignedIn(showDone));
  router.use('/reset-password', site.errorHandler);
  return router;
}
