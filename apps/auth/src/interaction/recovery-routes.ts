// A forgotten password and a new e-mail address, by mailed links that work once (contract section 5). Asking for a reset gets the same
// answer whether or not the account exists.
import type { Request, Response } from 'express';
import { Router } from 'express';
import type { AccountEmails } from '../accounts/account-emails.ts';
import type { OneTimeLinks } from '../accounts/one-time-link-store.ts';
import { validateNewPassword } from '../accounts/password-policy.ts';
import { hashPassword } from '../accounts/passwords.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import { field, queryText, rawField } from '../html/form-body.ts';
import type { Site } from '../html/site.ts';
import { byField, inWords, type ValidationError } from '../html/validation-errors.ts';

export interface RecoveryOptions {
  readonly site: Site;
  readonly accounts: AccountStore;
  readonly links: OneTimeLinks;
  readonly mail: AccountEmails;
  readonly resets: UsageLimit;
  /** Ends every session, grant and token of an account. */
  readonly signOutEverywhere: (accountId: string) => Promise<void>;
  /** Ends the lock-out of a user name. */
  readonly resetFailures: (username: string) => Promise<void>;
  readonly audit: Audit;
}

const csrfContext = 'recovery';

export function recoveryRoutes({
  site,
  accounts,
  links,
  mail,
  resets,
  signOutEverywhere,
  resetFailures,
  audit,
}: RecoveryOptions): Router {
  const showRequest = (
    request: Request,
    response: Response,
    { validationErrors = [], status = 200 }: { validationErrors?: readonly ValidationError[]; status?: number } = {},
  ) =>
    site.show(
      request,
      response,
      'reset-request',
      { validationErrors, errors: byField(validationErrors), username: field(request, 'username') },
      { title: 'Reset your password', status, csrfContext },
    );

  const showNew = (
    request: Request,
    response: Response,
    token: string,
    {
      validationErrors = [],
      username,
      status = 200,
    }: { validationErrors?: readonly ValidationError[]; username: string; status?: number },
  ) =>
    site.show(
      request,
      response,
      'reset-new',
      {
        validationErrors,
        errors: byField(validationErrors),
        username,
        action: `/reset-password/new?token=${encodeURIComponent(token)}`,
      },
      { title: 'Choose a new password', status, csrfContext },
    );

  const refuseLink = (request: Request, response: Response) =>
    site.showMessage(request, response, {
      status: 410,
      title: 'This link no longer works',
      text: 'It was used already, a newer one was sent, or its time is over.',
      tone: 'bad',
      links: [
        { href: '/reset-password', text: 'Get a new link' },
        { href: '/sign-in', text: 'Sign in' },
      ],
    });

  const router = Router();
  router.get('/reset-password', (request, response) => showRequest(request, response));
  router.post(
    '/reset-password',
    ...site.form(
      () => csrfContext,
      async (request, response) => {
        const username = field(request, 'username');
        if (!username) {
          const validationErrors = [{ field: 'username', text: 'Enter your e-mail address.' }];
          return showRequest(request, response, { validationErrors, status: 400 });
        }
        const wait = await resets.use(request.ip ?? '');
        if (wait > 0) {
          response.setHeader('Retry-After', String(wait));
          const validationErrors = [{ text: `Too many requests. Wait ${inWords(wait)} and try again.` }];
          return showRequest(request, response, { validationErrors, status: 429 });
        }
        mail.sendReset(username, request.ip);
        return site.showMessage(request, response, {
          title: 'Look into your mail',
          text: `If there is an account for ${username}, a link to choose a new password is on its way. It is good for 30 minutes.`,
          tone: 'good',
          links: [{ href: '/sign-in', text: 'Back to signing in' }],
        });
      },
    ),
  );

  router.get('/reset-password/new', async (request, response) => {
    const token = queryText(request, 'token') ?? '';
    const owner = await links.find('reset-password', token);
    const account = owner && (await accounts.findById(owner.accountId));
    if (!account || account.disabledAt) return refuseLink(request, response);
    return showNew(request, response, token, { username: account.username });
  });
  router.post(
    '/reset-password/new',
    ...site.form(
      () => csrfContext,
      async (request, response) => {
        const token = queryText(request, 'token') ?? '';
        const seen = await links.find('reset-password', token);
        const account = seen && (await accounts.findById(seen.accountId));
        if (!account || account.disabledAt) return refuseLink(request, response);
        const { username } = account;
        const password = rawField(request, 'password');
        const text = validateNewPassword(password, [username, account.name ?? '', account.email ?? '']);
        if (text) {
          return showNew(request, response, token, {
            validationErrors: [{ field: 'password', text }],
            username,
            status: 400,
          });
        }
        const passwordHash = await hashPassword(password);
        const owner = await links.consume('reset-password', token);
        if (!owner) return refuseLink(request, response);
        await accounts.recover(account.id, { passwordHash, email: owner.email });
        await signOutEverywhere(account.id);
        await resetFailures(username);
        audit.record({ kind: 'password.reset', accountId: account.id, address: request.ip });
        await mail.sendPasswordChanged(account);
        return site.showMessage(request, response, {
          title: 'Your password is changed',
          text: 'You are signed out everywhere. Sign in with the new password, here or in the application that you came from.',
          tone: 'good',
          links: [{ href: '/sign-in', text: 'Sign in' }],
        });
      },
    ),
  );

  // Some look at a link before its reader does: only a GET uses it up.
  router.head('/verify-email', (_request, response) => void response.end());
  router.get('/verify-email', async (request, response) => {
    const verified = await mail.verifyEmail(queryText(request, 'token') ?? '', request.ip);
    return site.showMessage(
      request,
      response,
      verified
        ? {
            title: 'Your address is confirmed',
            text: 'Thank you. There is nothing left to do.',
            tone: 'good',
            links: [{ href: '/account', text: 'Your account' }],
          }
        : {
            status: 410,
            title: 'This link no longer works',
            text: 'If you used it before, your address is confirmed already. If not, get a new link in your account.',
            tone: 'bad',
            links: [{ href: '/account', text: 'Your account' }],
          },
    );
  });
  router.use(['/reset-password', '/verify-email'], site.showFailure);
  return router;
}
