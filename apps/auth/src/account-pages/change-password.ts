// Changes the signed-in user's password or sets a first password.
//
// Somebody else may have known the old password, so every other session is signed out and clients lose their access.
// The user can keep the access that clients got in the current session.
import type { Request, Response } from 'express';
import { validatePasswordLength } from '../accounts/password-policy.ts';
import { maxPasswordLength } from '../accounts/passwords.ts';
import type { Account } from '../accounts/store.ts';
import { field, fieldErrors, rawField, tooMany } from '../html/forms.ts';
import { hashNewPassword } from '../html/new-password.ts';
import { missingProofPath } from '../html/signed-in.ts';
import type { SignedInHandler } from '../html/site.ts';
import type { PageServices } from '../services.ts';
import type { ShowAccount } from './page.ts';

const wrongPassword = 'The current password is wrong.';

export function createPasswordChange(services: PageServices, show: ShowAccount): SignedInHandler {
  const { accounts, factors, outbox, devices, signIn, emails, newPasswordLimit, audit } = services;

  /**
   * Checks the password like a sign-in: wrong passwords can lock the account. Returns nothing if the password is right.
   */
  const checkCurrentPassword = async (
    request: Request,
    response: Response,
    username: string,
  ): Promise<{ error?: string; retryAfter?: number }> => {
    const password = rawField(request, 'password');
    if (password === '') return { error: 'Enter your current password.' };
    if (password.length > maxPasswordLength) return { error: wrongPassword };
    const deviceOf = (account: Account) => devices.find(request, response, account);
    const outcome = await signIn({ username, password, address: request.ip ?? '', deviceOf });
    if ('account' in outcome) return {};
    return outcome.refused === 'locked' ? { retryAfter: outcome.retryAfter } : { error: wrongPassword };
  };

  return async (request, response, signedIn) => {
    const { account, sessionId } = signedIn;
    // The current password alone proves who the user is only if there is no second factor.
    if (!account.passwordHash || (await factors.hasSecondFactor(account.id))) {
      const missing = await missingProofPath(factors, signedIn, '/account');
      if (missing !== undefined) return response.redirect(303, missing);
    }

    const { error, retryAfter } = account.passwordHash
      ? await checkCurrentPassword(request, response, account.username)
      : {};
    if (retryAfter !== undefined) {
      return show(response, signedIn, tooMany(response, retryAfter, 'Too many sign-ins have failed.'));
    }
    const newPasswordError = validatePasswordLength(rawField(request, 'newPassword'));
    const validationErrors = fieldErrors({ password: error, newPassword: newPasswordError });
    if (validationErrors.length > 0) return show(response, signedIn, { validationErrors, status: 400 });
    const chosen = await hashNewPassword(response, {
      field: 'newPassword',
      about: [account.username, account.name ?? '', account.email ?? ''],
      limit: newPasswordLimit,
      limitKey: account.id,
    });
    if ('errors' in chosen) return show(response, signedIn, chosen.errors);
    const { passwordHash } = chosen;
    const keepClientAccess = field(request, 'keepApplications') === 'yes';
    await accounts.setPassword(account.id, passwordHash, { keptSession: sessionId, keepClientAccess });
    outbox.wake();
    // The old device cookie became invalid with the old password.
    devices.issue(request, response, { id: account.id, passwordHash });
    audit.record({ kind: 'password.changed', accountId: account.id, address: request.ip });
    await emails.sendPasswordChanged(account);
    response.redirect(303, '/account?done=password');
  };
}
