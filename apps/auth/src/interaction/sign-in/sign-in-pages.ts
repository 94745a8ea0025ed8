// Serves the pages for signing in with a password and for registering, in every sign-in context. The response to a
// failed sign-in does not reveal whether the account exists (docs/behaviour.md, "Sign-in protection").
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { isEmailAddress, validateName } from '../../accounts/field-rules.ts';
import { validateNewPassword, validatePasswordLength } from '../../accounts/password-policy.ts';
import { hashPassword } from '../../accounts/passwords.ts';
import type { SignIn } from '../../accounts/sign-in.ts';
import { type Account, type AccountStore, rolesOfNewUser } from '../../accounts/store.ts';
import type { Audit } from '../../audit/audit.ts';
import type { UsageLimit } from '../../guard/usage-limit.ts';
import { field, queryText, rawField } from '../../html/form-body.ts';
import type { Site } from '../../html/site.ts';
import { setRetryAfterAndExplain, type ValidationError } from '../../html/validation-errors.ts';
import type { SignInResult } from '../../oidc/authorization/interactions.ts';
import type { BrowserSessions, NewSession } from './browser-session.ts';
import type { FindSignInContext, SignInContext } from './sign-in-context.ts';

export interface SignInPagesOptions {
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly accounts: AccountStore;
  readonly signIn: SignIn['signIn'];
  /** Limits how many accounts are created from one IP address. */
  readonly registrationLimit: UsageLimit;
  readonly sendVerification: (account: Account) => Promise<void>;
  readonly audit: Audit;
}

interface FormState {
  readonly validationErrors?: readonly ValidationError[];
  readonly status?: number;
}

type ContextHandler = (request: Request, response: Response, context: SignInContext) => Promise<void>;

export type SignInPages = ReturnType<typeof createSignInPages>;

export function createSignInPages(options: SignInPagesOptions) {
  const { site, sessions, accounts, audit } = options;

  const showSignIn = (
    request: Request,
    response: Response,
    context: SignInContext,
    { username, ...state }: FormState & { username?: string } = {},
  ): Promise<void> => {
    // `reauthenticate` is the account of a signed-in user who must prove their identity again.
    const { reauthenticate, loginHint, csrfContext, allowExternalFormTargets } = context;
    return site.show(
      request,
      response,
      'sign-in',
      {
        context,
        notice: cancelNotice(request, context),
        username: username ?? reauthenticate?.username ?? loginHint,
        isReauthentication: reauthenticate !== undefined,
        // Without a password, the user can prove their identity only at a social provider.
        onlyProviders: reauthenticate !== undefined && !reauthenticate.passwordHash,
      },
      { title: reauthenticate ? 'Confirm that it is you' : 'Sign in', csrfContext, allowExternalFormTargets, ...state },
    );
  };

  const showRegister = (
    request: Request,
    response: Response,
    context: SignInContext,
    { values = {}, ...state }: FormState & { values?: object } = {},
  ): Promise<void> => {
    const { csrfContext, allowExternalFormTargets } = context;
    return site.show(
      request,
      response,
      'register',
      { context, values },
      { title: 'Create an account', csrfContext, allowExternalFormTargets, ...state },
    );
  };

  /** Starts the session of a user who has proved their identity. `respond` then sends the response. */
  const completeSignIn = async (
    request: Request,
    response: Response,
    { account, acr, amr }: NewSession,
    respond: (result: SignInResult) => Promise<void>,
  ): Promise<void> => {
    const { signedInAt } = await sessions.start(request, response, { account, acr, amr });
    // `acr` names the social provider. It is undefined after a sign-in with a password, whose `amr` is `pwd`.
    const detail = { method: acr ?? amr.join(' ') };
    audit.record({ kind: 'sign-in.succeeded', accountId: account.id, address: request.ip, detail });
    await respond({ accountId: account.id, signedInAt, acr, amr });
  };

  const completeWithPassword = (request: Request, response: Response, context: SignInContext, account: Account) =>
    completeSignIn(request, response, { account, amr: ['pwd'] }, (result) => context.complete(response, result));

  const submitSignIn: ContextHandler = async (request, response, context) => {
    const username = field(request, 'username');
    const password = rawField(request, 'password');
    const showErrors = (status: number, ...validationErrors: ValidationError[]) =>
      showSignIn(request, response, context, { validationErrors, username, status });
    const missing: ValidationError[] = [];
    if (!username) missing.push({ field: 'username', text: 'Enter your e-mail address or user name.' });
    if (!password) missing.push({ field: 'password', text: 'Enter your password.' });
    if (missing.length > 0) return showErrors(400, ...missing);
    const outcome = await options.signIn({
      username,
      password,
      address: request.ip ?? '',
      // Failed sign-ins are counted separately for a browser in which the account has signed in before.
      deviceOf: (account) => sessions.deviceOf(request, response, account),
    });
    if ('account' in outcome) return completeWithPassword(request, response, context, outcome.account);
    if (outcome.refused === 'locked') {
      const text = setRetryAfterAndExplain(response, outcome.retryAfter, 'Too many sign-ins have failed.');
      return showErrors(429, { text: `${text} You can also reset your password.` });
    }
    return showErrors(400, { field: 'username', text: 'The user name or the password is wrong.' });
  };

  const submitRegister: ContextHandler = async (request, response, context) => {
    const values = { name: field(request, 'name'), username: field(request, 'username') };
    const password = rawField(request, 'password');
    const showErrors = (status: number, ...errors: ValidationError[]) =>
      showRegister(request, response, context, { validationErrors: errors, values, status });
    const validationErrors = validateRegistration({ ...values, password });
    if (validationErrors.length > 0) return showErrors(400, ...validationErrors);
    // The request is counted before the strength of the password is estimated, because the estimate is expensive.
    const waitSeconds = await options.registrationLimit.use(request.ip ?? '');
    if (waitSeconds > 0) {
      const text = setRetryAfterAndExplain(response, waitSeconds, 'Too many accounts were created from your network.');
      return showErrors(429, { text });
    }
    const passwordError = await validateNewPassword(password, [values.name, values.username]);
    if (passwordError) return showErrors(400, { field: 'password', text: passwordError });
    const account = await accounts.create({
      ...values,
      email: values.username,
      emailVerified: false,
      kind: 'user',
      roles: rolesOfNewUser,
      passwordHash: await hashPassword(password),
    });
    if (!account) {
      const text = 'There is already an account with this address. Sign in, or reset its password.';
      return showErrors(409, { field: 'username', text });
    }
    audit.record({ kind: 'account.registered', accountId: account.id, address: request.ip });
    await options.sendVerification(account);
    return completeWithPassword(request, response, context, account);
  };

  return {
    showSignIn,
    completeSignIn,

    /**
     * Returns the routes `/sign-in` and `/register`, relative to the path at which the router is mounted.
     * `csrfContextOf` must return the `csrfContext` of the context that `findContext` finds.
     */
    routes(findContext: FindSignInContext, csrfContextOf: (request: Request) => string): Router {
      const withContext =
        (handler: ContextHandler): RequestHandler =>
        async (request, response) => {
          const context = await findContext(request, response);
          // Without a context, `findContext` has already sent the response.
          if (context) await handler(request, response, context);
        };
      // The routes of an authorization request are mounted at `/interaction/:uid`, and their handlers need `uid`.
      const router = Router({ mergeParams: true });
      router.get('/sign-in', withContext(showSignIn));
      router.post('/sign-in', ...site.form(csrfContextOf, withContext(submitSignIn)));
      router.get('/register', withContext(showRegister));
      router.post('/register', ...site.form(csrfContextOf, withContext(submitRegister)));
      return router;
    },
  };
}

function validateRegistration({
  name,
  username,
  password,
}: Record<'name' | 'username' | 'password', string>): ValidationError[] {
  const validationErrors: ValidationError[] = [];
  const nameError = validateName(name, 'Enter your name.');
  if (nameError) validationErrors.push({ field: 'name', text: nameError });
  if (!isEmailAddress(username)) {
    validationErrors.push({ field: 'username', text: 'Enter an e-mail address, such as name@example.com.' });
  }
  const passwordError = validatePasswordLength(password);
  if (passwordError) validationErrors.push({ field: 'password', text: passwordError });
  return validationErrors;
}

/** Returns the notice for a user who cancelled at the social provider that the parameter `cancelled` names. */
function cancelNotice(request: Request, { providers }: SignInContext): string | undefined {
  const cancelled = queryText(request, 'cancelled');
  const provider = providers.find(({ name }) => name === cancelled);
  return provider && `You cancelled signing in with ${provider.title}.`;
}
