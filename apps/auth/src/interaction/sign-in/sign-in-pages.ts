// Serves the pages for signing in with a password and for registering, in every sign-in context.
//
// The response to a failed sign-in does not reveal whether the account exists (docs/behaviour-auth.md, "Sign-in
// protection").
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { validatePasswordLength } from '../../accounts/password-policy.ts';
import { type Account, rolesOfNewUser } from '../../accounts/store.ts';
import {
  codeField,
  type FormError,
  field,
  fieldErrors,
  queryText,
  rawField,
  setRetryAfterAndExplain,
  tooMany,
} from '../../html/forms.ts';
import { hashNewPassword } from '../../html/new-password.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { FormState } from '../../html/site.ts';
import { validateEmailAddress, validateName } from '../../input/field-rules.ts';
import { readName } from '../../input/username.ts';
import type { PageServices } from '../../services.ts';
import type { FindSignInContext, SignInContext } from './sign-in-context.ts';
import { mfa } from './start-session.ts';

/** The options are not in the page, because each has another challenge, and they need no session. */
export const passkeyOptionsPath = '/sign-in/passkey-options';

type ContextHandler = (request: Request, response: Response, context: SignInContext) => Promise<void>;

export type SignInPages = ReturnType<typeof createSignInPages>;

export function createSignInPages(services: PageServices) {
  const { site, accounts, factors, devices, signIn, passkeys, attempts, startSession } = services;
  const { confirmationCodes, registrationLimit, emails, audit } = services;

  const showSignIn = async (
    response: Response,
    context: SignInContext,
    { username, ...state }: FormState & { username?: string } = {},
  ): Promise<void> => {
    const { reauthenticate, loginHint, csrfContext, allowExternalFormTargets } = context;
    const confirming = withoutPassword(context);
    return site.show(
      response,
      'sign-in',
      {
        context,
        username: username ?? reauthenticate?.account.username ?? loginHint,
        isReauthentication: reauthenticate !== undefined,
        passkey: { kind: 'get', optionsUrl: passkeyOptionsPath, autofill: confirming === undefined },
        code: confirming && {
          address: confirmationCodes.addressOf(confirming.account),
          isSent: await confirmationCodes.isSent(confirming.sessionId),
        },
      },
      {
        title: reauthenticate ? 'Confirm that it is you' : 'Sign in',
        csrfContext,
        allowExternalFormTargets,
        script: 'passkeys',
        notice: cancelNotice(response.req, context),
        ...state,
      },
    );
  };

  const showRegister = (
    response: Response,
    context: SignInContext,
    { values = {}, ...state }: FormState & { values?: object } = {},
  ): Promise<void> => {
    const { csrfContext, allowExternalFormTargets } = context;
    const page = { title: 'Create an account', csrfContext, allowExternalFormTargets, ...state };
    return site.show(response, 'register', { context, values }, page);
  };

  const complete = (request: Request, response: Response, context: SignInContext, account: Account) =>
    startSession(request, response, { account, amr: ['pwd'] }, context.next);

  const openSignIn: ContextHandler = async (_request, response, context) => {
    const user = withoutPassword(context);
    const needsCode = user && context.providers.length === 0 && confirmationCodes.addressOf(user.account) !== undefined;
    return needsCode && !(await confirmationCodes.isSent(user.sessionId))
      ? sendCode(response, context, user)
      : showSignIn(response, context);
  };

  const sendCode = async (response: Response, context: SignInContext, user: SignedIn): Promise<void> => {
    const waitSeconds = await confirmationCodes.send(user);
    const state = waitSeconds === 0 ? {} : tooMany(response, waitSeconds, 'Too many codes were sent.');
    return showSignIn(response, context, state);
  };

  /** Handles the forms of a user without a password, who confirms the sign-in with a mailed code. */
  const submitCode = async (request: Request, response: Response, context: SignInContext, user: SignedIn) => {
    const { account } = user;
    const showError = (text: string): Promise<void> =>
      showSignIn(response, context, { validationErrors: [{ field: 'code', text }], status: 400 });
    if (confirmationCodes.addressOf(account) === undefined) return showSignIn(response, context, { status: 400 });
    if (field(request, 'send') !== '') return sendCode(response, context, user);
    const code = codeField(request, 'code');
    if (!/^\d{6}$/.test(code)) return showError('Enter the six digits of the code.');
    const outcome = await confirmationCodes.check(user, code);
    if (outcome === 'right' && (await confirmationCodes.consume(user, code))) {
      // `otp` means a code that works once (RFC 8176).
      const amr = [...user.amr.filter((method) => method === 'fed'), 'otp'];
      return startSession(request, response, { account, acr: user.acr, amr }, context.next);
    }
    const detail = { reason: 'wrong code' };
    audit.record({ kind: 'sign-in.refused', accountId: account.id, address: request.ip, detail });
    return showError(
      outcome === 'wrong'
        ? 'The code is wrong.'
        : 'The code has expired, or too many wrong codes were entered. Request a new code.',
    );
  };

  /** Signs the user in without a password. */
  const submitPasskey = async (request: Request, response: Response, context: SignInContext, credential: string) => {
    const showError = (text: string): Promise<void> =>
      showSignIn(response, context, { validationErrors: [{ field: 'passkey', text }], status: 400 });
    // Only the IP address counts: whoever knows the id of a passkey must not lock its owner out.
    const attempt = await attempts.beginSocial(request.ip ?? '');
    const showLocked = (retryAfter: number): Promise<void> =>
      showSignIn(response, context, tooMany(response, retryAfter, 'Too many sign-ins have failed.'));
    if ('retryAfter' in attempt) return showLocked(attempt.retryAfter);
    const used = await passkeys.signIn(credential);
    const account = used && (await accounts.findById(used.passkey.accountId));
    const isOther = context.reauthenticate !== undefined && context.reauthenticate.account.id !== account?.id;
    if (!account || account.disabledAt || isOther || !used.isUserVerified) {
      const reason = used && !used.isUserVerified ? 'passkey without user verification' : 'passkey not accepted';
      audit.record({ kind: 'factor.refused', accountId: account?.id, address: request.ip, detail: { reason } });
      // A passkey without a check of the user is right, and the user goes on with the password.
      const lockout = used ? undefined : await attempt.failed();
      if (lockout) return showLocked(lockout.retryAfter);
      return showError(
        account && !used.isUserVerified
          ? "Your passkey didn't verify you with a PIN, fingerprint or face. Sign in with your password first."
          : 'This passkey cannot sign in here. Try again, or sign in another way.',
      );
    }
    await factors.recordPasskeyUse(used.passkey.id);
    await attempts.resetFailures(account, { isComplete: true });
    return startSession(request, response, { account, amr: ['pop', mfa] }, context.next);
  };

  const submitSignIn: ContextHandler = async (request, response, context) => {
    const credential = rawField(request, 'passkey');
    if (credential) return submitPasskey(request, response, context, credential);
    const confirming = withoutPassword(context);
    if (confirming) return submitCode(request, response, context, confirming);
    const username = field(request, 'username');
    const password = rawField(request, 'password');
    const showErrors = (status: number, ...validationErrors: FormError[]) =>
      showSignIn(response, context, { validationErrors, username, status });
    const missing = fieldErrors({
      username: username ? undefined : 'Enter your e-mail address or user name.',
      password: password ? undefined : 'Enter your password.',
    });
    if (missing.length > 0) return showErrors(400, ...missing);
    const deviceOf = (account: Account) => devices.find(request, response, account);
    const outcome = await signIn({ username, password, address: request.ip ?? '', deviceOf });
    if ('account' in outcome) return complete(request, response, context, outcome.account);
    if (outcome.refused === 'locked') {
      const text = setRetryAfterAndExplain(response, outcome.retryAfter, 'Too many sign-ins have failed.');
      return showErrors(429, { text: `${text} You can also reset your password.` });
    }
    return showErrors(400, { field: 'username', text: 'The user name or the password is wrong.' });
  };

  const submitRegister: ContextHandler = async (request, response, context) => {
    const values = { name: field(request, 'name'), username: readName(field(request, 'username')).shown };
    const validationErrors = fieldErrors({
      name: validateName(values.name, 'Enter your name.'),
      username: validateEmailAddress(values.username),
      password: validatePasswordLength(rawField(request, 'password')),
    });
    if (validationErrors.length > 0) return showRegister(response, context, { validationErrors, values, status: 400 });
    const chosen = await hashNewPassword(response, {
      about: [values.name, values.username],
      limit: registrationLimit,
      limitKey: request.ip ?? '',
      limitReason: 'Too many accounts were created from your network.',
    });
    if ('errors' in chosen) return showRegister(response, context, { ...chosen.errors, values });
    const account = await accounts.create({
      ...values,
      email: values.username,
      emailVerified: false,
      kind: 'user',
      roles: rolesOfNewUser,
      ...chosen,
    });
    if (!account) {
      const text = 'There is already an account with this address. Sign in, or reset its password.';
      const taken = { field: 'username', text };
      return showRegister(response, context, { validationErrors: [taken], values, status: 409 });
    }
    audit.record({ kind: 'account.registered', accountId: account.id, address: request.ip });
    await emails.sendVerification(account);
    return complete(request, response, context, account);
  };

  return {
    showSignIn,

    /**
     * Returns the routes `/sign-in` and `/register`, relative to the path at which the router is mounted.
     * `csrfContextOf` must return the `csrfContext` of the context that `findContext` finds.
     */
    routes(findContext: FindSignInContext, csrfContextOf: (request: Request) => string): Router {
      const withContext =
        (handler: ContextHandler): RequestHandler =>
        async (request, response) => {
          const context = await findContext(request, response);
          if (context) await handler(request, response, context);
        };
      // The handlers of an authorization request need the parameter `uid` of the outer router.
      const router = Router({ mergeParams: true });
      router.get('/sign-in', withContext(openSignIn));
      router.post('/sign-in', ...site.form(csrfContextOf, withContext(submitSignIn)));
      router.get(
        '/register',
        withContext((_request, response, context) => showRegister(response, context)),
      );
      router.post('/register', ...site.form(csrfContextOf, withContext(submitRegister)));
      return router;
    },
  };
}

/** Returns the signed-in user who must prove their identity again and has no password. */
const withoutPassword = ({ reauthenticate }: SignInContext): SignedIn | undefined =>
  reauthenticate && !reauthenticate.account.passwordHash ? reauthenticate : undefined;

/** Returns the notice for a user who cancelled at the social provider that the parameter `cancelled` names. */
function cancelNotice(request: Request, { providers }: SignInContext): string | undefined {
  const cancelled = queryText(request, 'cancelled');
  const provider = providers.find(({ name }) => name === cancelled);
  return provider && `You cancelled signing in with ${provider.title}.`;
}
