// Serves the pages that the link of an invitation e-mail opens. A new user chooses a name and a password. A user with
// an account signs in and accepts. If the link no longer works, the page explains the reason, and what the user can do.
import { type Request, type Response, Router } from 'express';
import { validateName } from '../../accounts/field-rules.ts';
import { validateNewPassword, validatePasswordLength } from '../../accounts/password-policy.ts';
import { hashPassword } from '../../accounts/passwords.ts';
import type { Account, AccountStore } from '../../accounts/store.ts';
import type { Audit } from '../../audit/audit.ts';
import { roleNames } from '../../facilities/role-names.ts';
import type { UsageLimit } from '../../guard/usage-limit.ts';
import { field, queryText, rawField } from '../../html/form-body.ts';
import { signInPath } from '../../html/local-path.ts';
import type { Site } from '../../html/site.ts';
import { setRetryAfterAndExplain, type ValidationError } from '../../html/validation-errors.ts';
import type { BrowserSessions } from '../../interaction/sign-in/browser-session.ts';
import { welcomePath } from '../home-pages.ts';
import type { PortalPages } from '../page.ts';
import { accountKindFor } from '../rules.ts';
import type { AcceptanceStore, InvitedAccount } from './acceptance-store.ts';
import type { Invitation, InvitationStore } from './invitation-store.ts';

export interface AcceptancePagesOptions {
  readonly pages: PortalPages;
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly accounts: Pick<AccountStore, 'findById' | 'verifyEmail'>;
  readonly store: InvitationStore;
  readonly acceptances: AcceptanceStore;
  /** Limits how often a new password can be submitted for one invitation. */
  readonly newPasswordLimit: UsageLimit;
  readonly audit: Audit;
}

interface InvitationContext {
  readonly token: string;
  readonly invitation: Invitation;
}

type InvitationHandler = (request: Request, response: Response, context: InvitationContext) => Promise<void>;

const csrfContext = 'invitation';
/** All tokens that we create are shorter. A longer text in a link is not looked up. */
const maxTokenLength = 200;
const pathOf = (token: string): string => `/portal/invitation?token=${encodeURIComponent(token)}`;

export function acceptanceRoutes(options: AcceptancePagesOptions): Router {
  const { pages, site, sessions, accounts, store, acceptances, newPasswordLimit, audit } = options;

  const links = [{ href: '/portal', text: 'Go to the portal' }];

  const showEndedLink = (request: Request, response: Response, invitation: Invitation | undefined): Promise<void> => {
    const title = 'This invitation no longer works';
    const text = explainEndedLink(invitation);
    return pages.showMessage(request, response, { status: 410, title, text, tone: 'bad', links });
  };

  const showWrongKind = (request: Request, response: Response, invitation: Invitation): Promise<void> => {
    const title = 'This address cannot accept the invitation';
    const text = explainWrongKind(invitation);
    return pages.showMessage(request, response, { status: 409, title, text, tone: 'bad', links });
  };

  const show = async (
    request: Request,
    response: Response,
    { token, invitation }: InvitationContext,
    { name = '', ...state }: { name?: string; validationErrors?: readonly ValidationError[]; status?: number } = {},
  ): Promise<void> => {
    const [signedIn, existing] = await Promise.all([
      sessions.current(request, response),
      acceptances.findInvitedAccount(invitation.email),
    ]);
    const isInvitedUser = signedIn !== undefined && isInvited(signedIn.account, invitation);
    const view = isInvitedUser ? 'accept-signed-in' : viewForAddress(invitation, existing);
    if (view === 'wrong-kind') return showWrongKind(request, response, invitation);
    return pages.show(
      request,
      response,
      view,
      {
        invitation,
        isService: accountKindFor(invitation.role) === 'service',
        roleName: roleNames[invitation.role],
        action: pathOf(token),
        signInPath: signInPath(pathOf(token)),
        signedInAs: signedIn?.account.name ?? signedIn?.account.username,
        name,
      },
      { title: `Invitation to ${invitation.facilityName}`, csrfContext, ...state },
    );
  };

  /** Records that the account has accepted the invitation, and redirects to the page that welcomes the user. */
  const complete = (
    request: Request,
    response: Response,
    { invitation }: InvitationContext,
    accountId: string,
  ): void => {
    const { id, facilityId, email, role } = invitation;
    const detail = { email, role, invitation: id };
    audit.record({ kind: 'invitation.accepted', accountId, address: request.ip, facilityId, detail });
    response.redirect(303, welcomePath(facilityId));
  };

  const acceptSignedIn: InvitationHandler = async (request, response, context) => {
    const { token, invitation } = context;
    const signedIn = await sessions.current(request, response);
    // A user who has not used the session for a long time must sign in again.
    if (!signedIn || signedIn.isIdle) {
      return response.redirect(303, signInPath(pathOf(token), { again: signedIn !== undefined }));
    }
    const { account } = signedIn;
    // The user has signed in to another account since the page was shown. The page then shows what to do instead.
    if (!isInvited(account, invitation)) return show(request, response, context, { status: 409 });
    const outcome = await acceptances.acceptWithAccount(token, account);
    // The invitation has ended since this request read it.
    if ('error' in outcome) return showEndedLink(request, response, await store.findByToken(token));
    // The user has opened a link that was mailed to this address.
    await accounts.verifyEmail(account.id, invitation.email);
    return complete(request, response, context, account.id);
  };

  const acceptWithNewAccount: InvitationHandler = async (request, response, context) => {
    const { token, invitation } = context;
    const name = field(request, 'name');
    const password = rawField(request, 'password');
    const validationErrors = validateNewAccount(name, password, invitation);
    const showErrors = (status: number, ...errors: ValidationError[]) =>
      show(request, response, context, { validationErrors: errors, name, status });
    if (validationErrors.length > 0) return showErrors(400, ...validationErrors);
    const waitSeconds = await newPasswordLimit.use(invitation.id);
    if (waitSeconds > 0) {
      return showErrors(429, {
        text: setRetryAfterAndExplain(response, waitSeconds, 'Too many passwords were tried.'),
      });
    }
    const passwordError = await validateNewPassword(password, [name, invitation.email, invitation.facilityName]);
    if (passwordError) return showErrors(400, { field: 'password', text: passwordError });

    const passwordHash = await hashPassword(password);
    const outcome = await acceptances.acceptWithNewAccount(token, { name: name || null, passwordHash });
    if ('error' in outcome) {
      // If an account with this address was created in the meantime, the page now offers to sign in.
      return outcome.error === 'username-taken'
        ? show(request, response, context, { status: 409 })
        : showEndedLink(request, response, await store.findByToken(token));
    }
    const account = await accounts.findById(outcome.accountId);
    // Always found, because the account was created just now.
    if (account) {
      await sessions.start(request, response, { account, amr: ['pwd'] });
      const detail = { by: 'invitation' };
      audit.record({ kind: 'account.registered', accountId: account.id, address: request.ip, detail });
    }
    return complete(request, response, context, outcome.accountId);
  };

  /** Runs the handler if the link belongs to an open invitation. Otherwise shows why the link does not work. */
  const withInvitation =
    (handler: InvitationHandler) =>
    async (request: Request, response: Response): Promise<void> => {
      const token = queryText(request, 'token') ?? '';
      const invitation = token.length > maxTokenLength ? undefined : await store.findByToken(token);
      if (invitation?.state !== 'open') return showEndedLink(request, response, invitation);
      return handler(request, response, { token, invitation });
    };

  const router = Router();
  router.get('/portal/invitation', withInvitation(show));
  router.post(
    '/portal/invitation',
    ...site.form(
      () => csrfContext,
      withInvitation((request, response, context) =>
        field(request, 'accept') === 'signed-in'
          ? acceptSignedIn(request, response, context)
          : acceptWithNewAccount(request, response, context),
      ),
    ),
  );
  return router;
}

/**
 * Returns the page for a user who is not signed in to the invited account. `existing` is the account whose user name is
 * the invited address.
 */
function viewForAddress(
  { role }: Invitation,
  existing: InvitedAccount | undefined,
): 'accept-sign-in' | 'accept-new-account' | 'wrong-kind' {
  if (!existing) return 'accept-new-account';
  if (existing.kind === accountKindFor(role)) return 'accept-sign-in';
  // If the existing account has no role and nobody has confirmed its e-mail address, the new account replaces it.
  return existing.isReplaceable ? 'accept-new-account' : 'wrong-kind';
}

function validateNewAccount(name: string, password: string, { role }: Invitation): readonly ValidationError[] {
  // A service account needs no name.
  const nameError = validateName(name, accountKindFor(role) === 'user' ? 'Enter your name.' : undefined);
  const lengthError = validatePasswordLength(password);
  return [
    ...(nameError ? [{ field: 'name', text: nameError }] : []),
    ...(lengthError ? [{ field: 'password', text: lengthError }] : []),
  ];
}

/**
 * Whether the invitation is for this account. The account must have the kind that belongs to the invited role. Its user
 * name or its confirmed e-mail address must be the invited address.
 */
function isInvited({ username, kind, email, emailVerified }: Account, invitation: Invitation): boolean {
  const addresses = [username, ...(emailVerified && email ? [email] : [])];
  return (
    kind === accountKindFor(invitation.role) &&
    addresses.some((address) => address.toLowerCase() === invitation.email.toLowerCase())
  );
}

function explainEndedLink(invitation: Invitation | undefined): string {
  if (!invitation) {
    return (
      'The link is incomplete, or we have sent a newer link. ' +
      'Use the link in the latest e-mail, or ask for a new invitation.'
    );
  }
  const { state, facilityName } = invitation;
  if (state === 'accepted') return 'It was already accepted. If you accepted it, sign in.';
  if (state === 'withdrawn') return `${facilityName} has withdrawn it. If this is a mistake, ask ${facilityName}.`;
  return `An invitation expires after seven days. Ask ${facilityName} to send it again.`;
}

const explainWrongKind = ({ email, role, facilityName }: Invitation): string =>
  accountKindFor(role) === 'service'
    ? `${email} is the address of a person’s account, but ${facilityName} invites a service account, which is for ` +
      `software. Ask ${facilityName} to invite another address, such as bookings@your-range.example.`
    : `${email} is the address of a service account, but ${facilityName} invites a person. ` +
      `Ask ${facilityName} to invite your own address.`;
