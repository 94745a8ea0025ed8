// Changes or sets the password of the signed-in user. Somebody else may have known the old password, so every other
// session ends. The clients of this browser also lose their access, unless the user chooses to keep it.
import type { Request, Response } from 'express';
import type { AccountEmails } from '../accounts/account-emails.ts';
import { validateNewPassword, validatePasswordLength } from '../accounts/password-policy.ts';
import { hashPassword, maxPasswordLength } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import { field, rawField } from '../html/form-body.ts';
import { signInPath } from '../html/local-path.ts';
import type { SignedInHandler } from '../html/site.ts';
import { retryLater, type ValidationError } from '../html/validation-errors.ts';
import type { BrowserSessions } from '../interaction/browser-session.ts';
import type { SessionStore } from '../interaction/session-store.ts';
import type { ShowAccount } from './page.ts';

export interface PasswordChangeOptions {
  readonly accounts: AccountStore;
  readonly sessions: SessionStore;
  readonly browser: Pick<BrowserSessions, 'deviceOf' | 'renewDevice'>;
  readonly signIn: SignIn['signIn'];
  readonly emails: AccountEmails;
  /** Limits how many new passwords are tried for one account. */
  readonly newPasswords: UsageLimit;
  readonly audit: Audit;
}

export function createPasswordChange(show: ShowAccount, options: PasswordChangeOptions): SignedInHandler {
  const { accounts, sessions, browser, signIn, emails, newPasswords, audit } = options;

  /** Checks the current password like a sign-in, so failures can lock the account ("Sign-in protection"). */
  const checkPassword = async (request: Request, response: Response, username: string, password: string) =>
    password === '' || password.length > maxPasswordLength
      ? { refused: 'invalid' as const }
      : signIn({
          username,
          password,
          address: request.ip ?? '',
          deviceOf: (account) => browser.deviceOf(request, response, account),
        });

  return async (request, response, signedIn) => {
    const { account, uid, isFresh } = signedIn;
    const validationErrors: ValidationError[] = [];
    if (account.passwordHash) {
      const password = rawField(request, 'password');
      const outcome = await checkPassword(request, response, account.username, password);
      if ('refused' in outcome && outcome.refused === 'locked') {
        const text = retryLater(response, outcome.retryAfter, 'Too many sign-ins have failed.');
        return show(request, response, signedIn, { validationErrors: [{ text }], status: 429 });
      }
      if ('refused' in outcome) {
        const text = password === '' ? 'Enter your current password.' : 'The current password is wrong.';
        validationErrors.push({ field: 'password', text });
      }
    } else if (!isFresh) {
      // The account has no password that could be checked, so only a recent sign-in proves who the user is.
      return response.redirect(303, signInPath('/account', true));
    }
    const newPassword = rawField(request, 'newPassword');
    const showErrors = (status: number, ...errors: ValidationError[]) =>
      show(request, response, signedIn, { validationErrors: errors, status });
    const lengthError = validatePasswordLength(newPassword);
    if (lengthError) validationErrors.push({ field: 'newPassword', text: lengthError });
    if (validationErrors.length > 0) return showErrors(400, ...validationErrors);
    const wait = await newPasswords.use(account.id);
    if (wait > 0) return showErrors(429, { text: retryLater(response, wait, 'Too many passwords were tried.') });
    const text = await validateNewPassword(newPassword, [account.username, account.name ?? '', account.email ?? '']);
    if (text) return showErrors(400, { field: 'newPassword', text });
    const passwordHash = await hashPassword(newPassword);
    await accounts.setPassword(account.id, passwordHash);
    browser.renewDevice(request, response, { id: account.id, passwordHash });
    await sessions.endEverythingElse(account.id, uid, { keepGrants: field(request, 'keepApplications') === 'yes' });
    audit.record({ kind: 'password.changed', accountId: account.id, address: request.ip });
    await emails.sendPasswordChanged(account);
    response.redirect(303, '/account?done=password');
  };
}
