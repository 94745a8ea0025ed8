// Signing in with a password and registering, wherever it happens (contract section 5). The answer to a wrong sign-in never says whether
// the account exists; registering signs in at once.
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { validateNewPassword } from '../accounts/password-policy.ts';
import { hashPassword } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import { type Account, type AccountStore, rolesOfNewUser } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import { field, queryText, rawField } from '../html/form-body.ts';
import type { Site } from '../html/site.ts';
import { byField, inWords, type ValidationError } from '../html/validation-errors.ts';
import type { SignInResult } from '../oidc/interactions.ts';
import type { BrowserSessions } from './browser-session.ts';
import { isEmailAddress } from './email-address.ts';
import type { FindSignInContext, SignInContext } from './sign-in-context.ts';

export interface SignInPagesOptions {
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly accounts: AccountStore;
  readonly signIn: SignIn['signIn'];
  readonly registrations: UsageLimit;
  readonly sendVerification: (account: Account) => Promise<void>;
  readonly audit: Audit;
}

export interface ProvenSignIn {
  readonly account: Account;
  readonly acr?: string;
  readonly amr: readonly string[];
  readonly next: (done: SignInResult) => Promise<void>;
}

export type SignInPages = ReturnType<typeof createSignInPages>;

export function createSignInPages(options: SignInPagesOptions) {
  const { site, sessions, accounts, audit } = options;

  const showSignIn = (
    request: Request,
    response: Response,
    context: SignInContext,
    {
      validationErrors = [],
      username,
      status = 200,
    }: { validationErrors?: readonly ValidationError[]; username?: string; status?: number } = {},
  ) =>
    site.show(
      request,
      response,
      'sign-in',
      {
        context,
        notice: cancelNotice(request, context),
        validationErrors,
        errors: byField(validationErrors),
        username: username ?? context.again?.username ?? context.hint,
        again: Boolean(context.again),
        onlyProviders: Boolean(context.again && !context.again.passwordHash),
      },
      page(context, validationErrors, context.again ? 'Confirm that it is you' : 'Sign in', status),
    );

  const showRegister = (
    request: Request,
    response: Response,
    context: SignInContext,
    {
      validationErrors = [],
      values = {},
      status = 200,
    }: { validationErrors?: readonly ValidationError[]; values?: object; status?: number } = {},
  ) =>
    site.show(
      request,
      response,
      'register',
      { context, validationErrors, errors: byField(validationErrors), values },
      page(context, validationErrors, 'Create an account', status),
    );

  /** Whoever it is has proven it: signs in, writes it down and goes on. */
  const finish = async (request: Request, response: Response, proven: ProvenSignIn): Promise<void> => {
    const { account, acr, amr, next } = proven;
    const { signedInAt } = await sessions.start(request, response, { account, acr, amr });
    const detail = { method: acr ?? amr.join(' ') };
    audit.record({ kind: 'sign-in.succeeded', accountId: account.id, address: request.ip, detail });
    await next({ accountId: account.id, signedInAt, acr, amr });
  };

  const submitSignIn = async (request: Request, response: Response, context: SignInContext): Promise<void> => {
    const username = field(request, 'username');
    const password = rawField(request, 'password');
    const missing: ValidationError[] = [
      ...(username ? [] : [{ field: 'username', text: 'Enter your e-mail address or user name.' }]),
      ...(password ? [] : [{ field: 'password', text: 'Enter your password.' }]),
    ];
    if (missing.length > 0)
      return showSignIn(request, response, context, { validationErrors: missing, username, status: 400 });
    const outcome = await options.signIn({ username, password, address: request.ip ?? '' });
    if ('account' in outcome) {
      return finish(request, response, { account: outcome.account, amr: ['pwd'], next: context.finish(response) });
    }
    if (outcome.refused === 'locked') {
      response.setHeader('Retry-After', String(outcome.retryAfter));
      const text = `Too many sign-ins have failed. Wait ${inWords(outcome.retryAfter)} and try again, or reset your password.`;
      return showSignIn(request, response, context, { validationErrors: [{ text }], username, status: 429 });
    }
    const text = 'That user name and password do not match.';
    return showSignIn(request, response, context, {
      validationErrors: [{ field: 'username', text }],
      username,
      status: 400,
    });
  };

  const submitRegister = async (request: Request, response: Response, context: SignInContext): Promise<void> => {
    const name = field(request, 'name');
    const username = field(request, 'username');
    const password = rawField(request, 'password');
    const values = { name, username };
    const validationErrors = findRegistrationErrors({ name, username, password });
    if (validationErrors.length > 0)
      return showRegister(request, response, context, { validationErrors, values, status: 400 });
    const wait = await options.registrations.use(request.ip ?? '');
    if (wait > 0) {
      response.setHeader('Retry-After', String(wait));
      const text = `Too many accounts have been created from here. Wait ${inWords(wait)} and try again.`;
      return showRegister(request, response, context, { validationErrors: [{ text }], values, status: 429 });
    }
    const account = await accounts.create({
      username,
      name,
      email: username,
      emailVerified: false,
      kind: 'user',
      roles: rolesOfNewUser,
      passwordHash: await hashPassword(password),
    });
    if (!account) {
      const text = 'There is an account with this address already. Sign in, or reset its password.';
      return showRegister(request, response, context, {
        validationErrors: [{ field: 'username', text }],
        values,
        status: 409,
      });
    }
    audit.record({ kind: 'account.registered', accountId: account.id, address: request.ip });
    await options.sendVerification(account);
    return finish(request, response, { account, amr: ['pwd'], next: context.finish(response) });
  };

  const at =
    (
      findContext: FindSignInContext,
      work: (request: Request, response: Response, context: SignInContext) => Promise<void>,
    ): RequestHandler =>
    async (request, response) => {
      const context = await findContext(request, response);
      if (context) await work(request, response, context);
    };

  return {
    showSignIn,
    finish,

    /** `/sign-in` and `/register` below wherever it is mounted. */
    routes(findContext: FindSignInContext, csrfContext: (request: Request) => string): Router {
      const router = Router({ mergeParams: true });
      router.get('/sign-in', at(findContext, showSignIn));
      router.post('/sign-in', ...site.form(csrfContext, at(findContext, submitSignIn)));
      router.get('/register', at(findContext, showRegister));
      router.post('/register', ...site.form(csrfContext, at(findContext, submitRegister)));
      return router;
    },
  };
}

function findRegistrationErrors({
  name,
  username,
  password,
}: Record<'name' | 'username' | 'password', string>): ValidationError[] {
  const validationErrors: ValidationError[] = [];
  if (name === '') validationErrors.push({ field: 'name', text: 'Enter your name.' });
  else if (name.length > 100) validationErrors.push({ field: 'name', text: 'Use 100 characters at most.' });
  if (!isEmailAddress(username)) {
    validationErrors.push({ field: 'username', text: 'Enter an e-mail address, such as name@example.com.' });
  }
  const fault = validateNewPassword(password, [name, username]);
  if (fault) validationErrors.push({ field: 'password', text: fault });
  return validationErrors;
}

const page = (context: SignInContext, validationErrors: readonly ValidationError[], title: string, status: number) => ({
  title: validationErrors.length > 0 ? `Error: ${title}` : title,
  status,
  csrfContext: context.csrfContext,
  allowExternalFormTargets: context.allowExternalFormTargets,
});

/** A user who cancelled at a social provider returns with the name of the provider in the parameter `cancelled`. */
function cancelNotice(request: Request, { providers }: SignInContext): string | undefined {
  const cancelled = queryText(request, 'cancelled');
  const provider = providers.find(({ name }) => name === cancelled);
  return provider && `You cancelled signing in with ${provider.title}.`;
}
