// Serves the pages that the link of an invitation opens. A new user chooses a name and a password. A user with an
// account signs in and accepts.
import { type Request, type Response, Router } from 'express';
import { validatePasswordLength } from '../../accounts/password-policy.ts';
import type { Account } from '../../accounts/store.ts';
import { describeRole, roleNames } from '../../facilities/roles.ts';
import { field, fieldErrors, queryText, rawField } from '../../html/forms.ts';
import { signInPath } from '../../html/local-path.ts';
import { hashNewPassword } from '../../html/new-password.ts';
import type { FormState } from '../../html/site.ts';
import { validateName } from '../../input/field-rules.ts';
import { canonicalName } from '../../input/username.ts';
import type { PortalServices } from '../page.ts';
import { accountKindFor } from '../rules.ts';
import type { InvitedAccount } from './acceptance-store.ts';
import type { Invitation } from './invitation-store.ts';

interface InvitationContext {
  readonly token: string;
  readonly invitation: Invitation;
}

type InvitationHandler = (request: Request, response: Response, context: InvitationContext) => Promise<void>;

const csrfContext = 'invitation';
const pathOf = (token: string): string => `/portal/invitation?token=${encodeURIComponent(token)}`;

export function acceptanceRoutes(services: PortalServices): Router {
  const { site, sessions, accounts, invitationStore, acceptances, audit } = services;
  const { facilityEmails, newPasswordLimit, startSession, pages } = services;

  const showRejection = (response: Response, status: number, title: string, text: string): Promise<void> =>
    site.showMessage(response, { status, title, text, links: [{ href: '/portal', text: 'Go to the portal' }] });

  const showEndedLink = (response: Response, invitation: Invitation | undefined): Promise<void> =>
    showRejection(response, 410, 'This invitation no longer works', explainEndedLink(invitation));

  const show = async (
    response: Response,
    { token, invitation }: InvitationContext,
    { name = '', ...state }: FormState & { name?: string } = {},
  ): Promise<void> => {
    const [signedIn, existing] = await Promise.all([
      sessions.current(response.req, response),
      acceptances.findInvitedAccount(invitation.email),
    ]);
    const isInvitedUser = signedIn !== undefined && isInvited(signedIn.account, invitation);
    const view = isInvitedUser ? 'accept-signed-in' : viewForAddress(invitation, existing);
    if (view === 'wrong-kind') {
      return showRejection(response, 409, 'This address cannot accept the invitation', explainWrongKind(invitation));
    }
    return pages.show(
      response,
      view,
      {
        invitation,
        isService: accountKindFor(invitation.role) === 'service',
        roleName: roleNames[invitation.role],
        roleDetail: describeRole(invitation.role),
        action: pathOf(token),
        signInPath: signInPath(pathOf(token)),
        signedInAs: signedIn?.account.name ?? signedIn?.account.username,
        name,
      },
      { title: `Invitation to ${invitation.facilityName}`, csrfContext, ...state },
    );
  };

  /** Records that the account has accepted the invitation. Returns the path of the page that welcomes the user. */
  const complete = async (
    response: Response,
    { invitation }: InvitationContext,
    accountId: string,
  ): Promise<string> => {
    const { id, facilityId, email, role, inviterId } = invitation;
    const detail = { email, role, invitation: id };
    const event = { kind: 'invitation.accepted', accountId, address: response.req.ip, facilityId, detail } as const;
    audit.record(event);
    await facilityEmails.send(event, 'owners', inviterId ? [inviterId] : []);
    return `/portal?welcome=${encodeURIComponent(facilityId)}`;
  };

  const acceptSignedIn: InvitationHandler = async (request, response, context) => {
    const { token, invitation } = context;
    const signedIn = await sessions.current(request, response);
    if (!signedIn) return response.redirect(303, signInPath(pathOf(token)));
    const { account } = signedIn;
    // The user has signed in to another account since the page was shown. The page then shows what to do instead.
    if (!isInvited(account, invitation)) return show(response, context, { status: 409 });
    const outcome = await acceptances.acceptWithAccount(token, account);
    if ('error' in outcome) return showEndedLink(response, await invitationStore.findByToken(token));
    // The user has opened a link that was mailed to this e-mail address.
    await accounts.verifyEmail(account.id, invitation.email);
    response.redirect(303, await complete(response, context, account.id));
  };

  const acceptWithNewAccount: InvitationHandler = async (request, response, context) => {
    const { token, invitation } = context;
    const name = field(request, 'name');
    const validationErrors = fieldErrors({
      // A service account needs no name.
      name: validateName(name, accountKindFor(invitation.role) === 'user' ? 'Enter your name.' : undefined),
      password: validatePasswordLength(rawField(request, 'password')),
    });
    if (validationErrors.length > 0) return show(response, context, { validationErrors, name, status: 400 });
    const about = [name, invitation.email, invitation.facilityName];
    const chosen = await hashNewPassword(response, { about, limit: newPasswordLimit, limitKey: invitation.id });
    if ('errors' in chosen) return show(response, context, { ...chosen.errors, name });

    const outcome = await acceptances.acceptWithNewAccount(token, { name: name || null, ...chosen });
    if ('error' in outcome) {
      // If an account with this e-mail address was created in the meantime, the page now offers to sign in.
      return outcome.error === 'username-taken'
        ? show(response, context, { status: 409 })
        : showEndedLink(response, await invitationStore.findByToken(token));
    }
    const account = await accounts.findById(outcome.accountId);
    if (!account) throw new Error('the new account was deleted');
    const detail = { by: 'invitation' };
    audit.record({ kind: 'account.registered', accountId: account.id, address: request.ip, detail });
    const returnTo = await complete(response, context, account.id);
    await startSession(request, response, { account, amr: ['pwd'] }, { returnTo });
  };

  /** Runs the handler if the link belongs to an open invitation. Otherwise shows why the link does not work. */
  const withInvitation =
    (handler: InvitationHandler) =>
    async (request: Request, response: Response): Promise<void> => {
      const token = queryText(request, 'token') ?? '';
      const invitation = await invitationStore.findByToken(token);
      if (invitation?.state !== 'open') return showEndedLink(response, invitation);
      if (invitation.isFacilityDisabled) {
        const text = 'The operator of the service disabled this facility. Use the link again when it is enabled.';
        return showRejection(response, 403, `${invitation.facilityName} is disabled`, text);
      }
      return handler(request, response, { token, invitation });
    };

  const router = Router();
  router.get(
    '/portal/invitation',
    withInvitation((_request, response, context) => show(response, context)),
  );
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

/** Returns the page for a user who is not signed in to the invited account `existing`. */
function viewForAddress(
  { role }: Invitation,
  existing: InvitedAccount | undefined,
): 'accept-sign-in' | 'accept-new-account' | 'wrong-kind' {
  if (!existing) return 'accept-new-account';
  if (existing.kind === accountKindFor(role)) return 'accept-sign-in';
  return existing.isReplaceable ? 'accept-new-account' : 'wrong-kind';
}

/** Whether the account has the kind of the invited role, and the invited address as user name or confirmed address. */
function isInvited({ username, kind, email, emailVerified }: Account, invitation: Invitation): boolean {
  const addresses = [username, ...(emailVerified && email ? [email] : [])];
  return (
    kind === accountKindFor(invitation.role) && addresses.map(canonicalName).includes(canonicalName(invitation.email))
  );
}

function explainEndedLink(invitation: Invitation | undefined): string {
  if (!invitation) {
    return (
      "The link is incomplete, or we've sent a newer link. " +
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
