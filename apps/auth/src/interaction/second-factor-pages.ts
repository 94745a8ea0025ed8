// Serves the page that asks a user whose sign-in is pending for the account's second factor.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Account } from '../accounts/store.ts';
import type { PendingSignIn } from '../factors/pending-sign-in-store.ts';
import { errorMessages, wayOn } from '../html/error-page.ts';
import { codeField, queryText, rawField, tooMany } from '../html/forms.ts';
import { localPath, secondFactorPath, signInPath } from '../html/local-path.ts';
import { hasTwoFactors } from '../html/signed-in.ts';
import type { FormState } from '../html/site.ts';
import type { PageServices } from '../services.ts';
import { destinationOf, signInPageOf } from './sign-in/sign-in-context.ts';
import { mfa, pendingSignInCookie } from './sign-in/start-session.ts';

interface PendingUser {
  readonly id: string;
  readonly signIn: PendingSignIn;
  readonly account: Account;
}

const csrfContext = 'second-factor';

export function secondFactorRoutes(services: PageServices): Router {
  const { site, accounts, factors, pendingSignIns, cookies, devices, sessions, attempts, audit } = services;

  const browserSecretOf = (request: Request, response: Response): string =>
    cookies.get(request, response, pendingSignInCookie) ?? '';

  const find = async (request: Request, response: Response): Promise<PendingUser | undefined> => {
    const id = queryText(request, 'id') ?? '';
    const signIn = await pendingSignIns.find(id, browserSecretOf(request, response));
    const account = signIn && (await accounts.findById(signIn.accountId));
    return signIn && account && !account.disabledAt ? { id, signIn, account } : undefined;
  };

  const showExpired = (response: Response): Promise<void> =>
    site.showMessage(response, { status: 400, ...errorMessages.signInExpired, links: [wayOn()] });

  const show = async (
    response: Response,
    { id, signIn, account }: PendingUser,
    state: FormState = {},
  ): Promise<void> => {
    const { passkeys, appSetUpAt } = await factors.list(account.id);
    const data = {
      action: `${secondFactorPath}?id=${encodeURIComponent(id)}`,
      username: account.username,
      passkey: passkeys.length > 0 && {
        kind: 'get',
        options: JSON.stringify(await services.passkeys.secondFactorOptions(account.id, passkeys)),
      },
      hasAuthenticatorApp: appSetUpAt !== null,
      startAgain: signInPageOf(signIn, { again: true }),
    };
    await site.show(response, '/interaction/second-factor', data, {
      title: 'One more step to sign in',
      csrfContext,
      allowExternalFormTargets: signIn.interactionUid !== null,
      script: passkeys.length > 0 && 'passkeys',
      ...state,
    });
  };

  const complete = async (
    request: Request,
    response: Response,
    { id, account }: PendingUser,
    method: 'otp' | 'pop',
  ) => {
    const completed = await pendingSignIns.consume(id, browserSecretOf(request, response));
    if (!completed) return showExpired(response);
    const { acr, amr } = completed;
    const proven = { account, acr: acr ?? undefined, amr: [...new Set([...amr, method, mfa])] };
    await services.startSession(request, response, proven, destinationOf(completed));
  };

  const submit = async (request: Request, response: Response, user: PendingUser): Promise<void> => {
    const { account } = user;
    const credential = rawField(request, 'passkey');
    const code = codeField(request, 'code');
    const event = { accountId: account.id, address: request.ip };
    const showError = (text: string): Promise<void> =>
      show(response, user, { validationErrors: [{ field: credential ? 'passkey' : 'code', text }], status: 400 });
    const showLocked = (retryAfter: number): Promise<void> => {
      audit.record({ kind: 'sign-in.locked', ...event });
      return show(response, user, tooMany(response, retryAfter, 'Too many sign-ins have failed.'));
    };
    if (!credential && code === '') return showError('Enter the code from your authenticator app, or a recovery code.');
    const device = devices.find(request, response, account);
    const attempt = await attempts.beginSecondFactor(account, request.ip ?? '', device);
    if ('retryAfter' in attempt) return showLocked(attempt.retryAfter);
    const used = credential ? await services.passkeys.useAsSecondFactor(account.id, credential) : undefined;
    const factor = used ? 'passkey' : !credential && (await factors.useCode(account.id, code));
    const lockout = factor ? await attempt.succeeded({ isComplete: true }) : await attempt.failed();
    if (!factor) {
      const reason = credential ? 'passkey not accepted' : 'wrong or used code';
      audit.record({ kind: 'factor.refused', ...event, detail: { reason } });
      await attempts.warnAboutWrongFactors(account);
    }
    if (lockout) return showLocked(lockout.retryAfter);
    if (!factor) {
      return showError(
        credential
          ? 'The passkey was not accepted. Try again, or type a code.'
          : 'The code is wrong or was already used. Wait for the next code of your app and try again.',
      );
    }
    if (used) await factors.recordPasskeyUse(used.passkey.id);
    audit.record({ kind: 'factor.used', ...event, detail: { factor } });
    if (factor === 'recovery code') {
      const { recoveryCodes } = await factors.list(account.id);
      await services.emails.sendFactorChanged(account, `A recovery code was used (${recoveryCodes} left)`);
    }
    await complete(request, response, user, used ? 'pop' : 'otp');
  };

  const withPendingSignIn =
    (handler: (request: Request, response: Response, user: PendingUser) => Promise<void>): RequestHandler =>
    async (request, response) => {
      const user = await find(request, response);
      return user ? handler(request, response, user) : showExpired(response);
    };

  /** Asks a signed-in user for the missing factor, or for the set-up, and then returns to the path `return`. */
  const askForMissingFactor: RequestHandler = async (request, response) => {
    const returnTo = localPath(queryText(request, 'return'), '/account');
    const signedIn = await sessions.current(request, response);
    if (!signedIn) return response.redirect(303, signInPath(returnTo));
    if (hasTwoFactors(signedIn)) return response.redirect(303, returnTo);
    await services.askForMissingFactor(request, response, signedIn, { returnTo });
  };

  const router = Router();
  router.get(secondFactorPath, (request, response, next) =>
    queryText(request, 'return') === undefined
      ? withPendingSignIn((_request, shownResponse, user) => show(shownResponse, user))(request, response, next)
      : askForMissingFactor(request, response, next),
  );
  router.post(secondFactorPath, ...site.form(() => csrfContext, withPendingSignIn(submit)));
  return router;
}
