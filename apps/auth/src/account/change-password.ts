// Change of the password by whoever is signed in: the present one is proved first, and every other browser is signed out.
import type { Request, Response } from 'express';
import type { AccountEmails } from '../accounts/account-emails.ts';
import { validateNewPassword } from '../accounts/password-policy.ts';
import { hashPassword, maxPasswordLength } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import { rawField } from '../html/form-body.ts';
import { signInAndBack } from '../html/local-path.ts';
import { inWords, type ValidationError } from '../html/validation-errors.ts';
import type { SignedIn } from '../interaction/browser-session.ts';
import type { SessionStore } from '../interaction/session-store.ts';
import type { ShowAccount } from './page.ts';

export interface PasswordChangeOptions {
  readonly show: ShowAccount;
  readonly accounts: AccountStore;
  readonly sessions: SessionStore;
  readonly signIn: SignIn['signIn'];
  readonly mail: AccountEmails;
  readonly audit: Audit;
}

export function createPasswordChange({ show, accounts, sessions, signIn, mail, audit }: PasswordChangeOptions) {
  return async (request: Request, response: Response, signedIn: SignedIn): Promise<void> => {
    const { account, uid } = signedIn;
    if (!account.passwordHash && !signedIn.fresh) return response.redirect(303, signInAndBack('/account', true));
    const password = rawField(request, 'newPassword');
    const validationErrors: ValidationError[] = [];
    // Whoever has a password proves it again; it counts as a sign-in for the guard.
    if (account.passwordHash) {
      const current = rawField(request, 'password');
      if (current.length > maxPasswordLength || current === '')
        validationErrors.push({ field: 'password', text: 'Enter your current password.' });
      else {
        const address = request.ip ?? '';
        const outcome = await signIn({ username: account.username, password: current, address });
        if ('refused' in outcome && outcome.refused === 'locked') {
          response.setHeader('Retry-After', String(outcome.retryAfter));
          const text = `Too many sign-ins have failed. Wait ${inWords(outcome.retryAfter)} and try again.`;
          return show(request, response, signedIn, { validationErrors: [{ text }], status: 429 });
        }
        if ('refused' in outcome)
          validationErrors.push({ field: 'password', text: 'That is not your current password.' });
      }
    }
    const text = validateNewPassword(password, [account.username, account.name ?? '', account.email ?? '']);
    if (text) validationErrors.push({ field: 'newPassword', text });
    if (validationErrors.length > 0) return show(request, response, signedIn, { validationErrors, status: 400 });
    await accounts.setPassword(account.id, await hashPassword(password));
    await sessions.end(account.id, { allBut: uid });
    audit.record({ kind: 'password.changed', accountId: account.id, address: request.ip });
    await mail.sendPasswordChanged(account);
    response.redirect(303, '/account?done=password');
  };
}
