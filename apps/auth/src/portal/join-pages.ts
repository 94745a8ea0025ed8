// The page behind an invitation's link: a new account chooses its name and password, an existing one signs in and accepts. A link that no
// longer works says why and what to do next.
import { type Request, type Response, Router } from 'express';
import { validateNewPassword } from '../accounts/password-policy.ts';
import { hashPassword } from '../accounts/passwords.ts';
import type { Account, AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import { field, queryText, rawField } from '../html/form-body.ts';
import { signInAndBack } from '../html/local-path.ts';
import type { Site } from '../html/site.ts';
import { byField, type ValidationError } from '../html/validation-errors.ts';
import type { BrowserSessions } from '../interaction/browser-session.ts';
import type { AcceptanceStore } from './acceptance-store.ts';
import type { Invitation, InvitationStore } from './invitation-store.ts';
import type { PortalPages } from './page.ts';
import { kindFor, roleWords } from './rules.ts';

export interface JoinPagesOptions {
  readonly pages: PortalPages;
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly accounts: Pick<AccountStore, 'findById' | 'verifyEmail'>;
  readonly store: InvitationStore;
  readonly acceptances: AcceptanceStore;
  readonly audit: Audit;
}

interface Joining {
  readonly token: string;
  readonly invitation: Invitation;
}

const csrfContext = 'invitation';
const here = (token: string): string => `/portal/invitation?token=${encodeURIComponent(token)}`;

export function joinRoutes(options: JoinPagesOptions): Router {
  const { pages, site, sessions, accounts, store, acceptances, audit } = options;

  /** Its own name is the invited one, or it has proven that the address is its own. */
  const isInvited = ({ username, kind, email, emailVerified }: Account, invitation: Invitation): boolean =>
    kind === kindFor(invitation.role) &&
    [username, ...(emailVerified && email ? [email] : [])].some(
      (known) => known.toLowerCase() === invitation.email.toLowerCase(),
    );

  const refuseLink = (request: Request, response: Response, invitation: Invitation | undefined): Promise<void> => {
    const facility = invitation?.facilityName;
    const next = { href: '/portal', text: 'Sign in to the portal' };
    const why = {
      accepted: `It was accepted already. If that was you, sign in.`,
      withdrawn: `${facility} has withdrawn it. If you think that is a mistake, ask there for another.`,
      expired: `An invitation is good for seven days. Ask ${facility} to send it again.`,
      open: '',
      unknown:
        'It was not copied whole, or a newer one was sent since: use the link of the latest mail, or ask for another.',
    }[invitation?.state ?? 'unknown'];
    return pages.showMessage(request, response, {
      status: 410,
      title: 'This invitation no longer works',
      text: why,
      tone: 'bad',
      links: [next],
    });
  };

  const refuseKind = (request: Request, response: Response, { email, role, facilityName }: Invitation): Promise<void> =>
    pages.showMessage(request, response, {
      status: 409,
      title: 'This address cannot accept the invitation',
      text:
        kindFor(role) === 'service'
          ? `${email} is the address of a person’s account, and ${facilityName} invites a service account, an account for a program. Ask there to invite an address that is the program’s own, such as bookings@your-range.example.`
          : `${email} is the address of a service account, and ${facilityName} invites a person. Ask there to invite your own address.`,
      tone: 'bad',
      links: [{ href: '/portal', text: 'To the portal' }],
    });

  const show = async (
    request: Request,
    response: Response,
    { token, invitation }: Joining,
    {
      validationErrors = [],
      name = '',
      status = 200,
    }: { validationErrors?: readonly ValidationError[]; name?: string; status?: number } = {},
  ): Promise<void> => {
    const [signedIn, known] = await Promise.all([
      sessions.current(request, response),
      acceptances.findInvited(invitation.email),
    ]);
    const mine = signedIn && isInvited(signedIn.account, invitation);
    if (!mine && known && known.kind !== kindFor(invitation.role)) return refuseKind(request, response, invitation);
    return pages.show(
      request,
      response,
      mine ? 'accept' : known ? 'accept-elsewhere' : 'join',
      {
        invitation,
        service: kindFor(invitation.role) === 'service',
        role: roleWords[invitation.role],
        action: here(token),
        signIn: signInAndBack(here(token), false),
        signedInAs: signedIn ? (signedIn.account.name ?? signedIn.account.username) : undefined,
        validationErrors,
        errors: byField(validationErrors),
        name,
      },
      {
        title: `${validationErrors.length > 0 ? 'Error: ' : ''}Invitation to ${invitation.facilityName}`,
        status,
        csrfContext,
      },
    );
  };

  const finish = async (request: Request, response: Response, { invitation }: Joining, accountId: string) => {
    audit.record({
      kind: 'invitation.accepted',
      accountId,
      address: request.ip,
      facilityId: invitation.facilityId,
      detail: { email: invitation.email, role: invitation.role, invitation: invitation.id },
    });
    response.redirect(303, '/portal');
  };

  const acceptSignedIn = async (request: Request, response: Response, joining: Joining): Promise<void> => {
    const signedIn = await sessions.current(request, response);
    if (!signedIn || signedIn.idle) {
      return response.redirect(303, signInAndBack(here(joining.token), signedIn !== undefined));
    }
    const { account } = signedIn;
    if (!isInvited(account, joining.invitation)) return show(request, response, joining, { status: 409 });
    const outcome = await acceptances.acceptAs(joining.token, account);
    if (!outcome.accepted) return refuseLink(request, response, await store.findByToken(joining.token));
    await accounts.verifyEmail(account.id, joining.invitation.email);
    return finish(request, response, joining, account.id);
  };

  const acceptAnew = async (request: Request, response: Response, joining: Joining): Promise<void> => {
    const { token, invitation } = joining;
    const name = field(request, 'name');
    const password = rawField(request, 'password');
    const validationErrors: ValidationError[] = [];
    if (name === '' && kindFor(invitation.role) === 'user')
      validationErrors.push({ field: 'name', text: 'Enter your name.' });
    else if (name.length > 100) validationErrors.push({ field: 'name', text: 'Use 100 characters at most.' });
    const weak = validateNewPassword(password, [name, invitation.email, invitation.facilityName]);
    if (weak) validationErrors.push({ field: 'password', text: weak });
    if (validationErrors.length > 0) return show(request, response, joining, { validationErrors, name, status: 400 });
    const outcome = await acceptances.acceptAnew(token, {
      name: name || null,
      passwordHash: await hashPassword(password),
    });
    if (!outcome.accepted && outcome.why === 'taken') return show(request, response, joining, { status: 409 });
    if (!outcome.accepted) return refuseLink(request, response, await store.findByToken(token));
    const account = await accounts.findById(outcome.accountId);
    if (account) {
      await sessions.start(request, response, { account, amr: ['pwd'] });
      audit.record({
        kind: 'account.registered',
        accountId: account.id,
        address: request.ip,
        detail: { by: 'invitation' },
      });
    }
    return finish(request, response, joining, outcome.accountId);
  };

  const withInvitation =
    (handler: (request: Request, response: Response, joining: Joining) => Promise<void>) =>
    async (request: Request, response: Response): Promise<void> => {
      const token = queryText(request, 'token') ?? '';
      const invitation = token.length > 200 ? undefined : await store.findByToken(token);
      if (invitation?.state !== 'open') return refuseLink(request, response, invitation);
      return handler(request, response, { token, invitation });
    };

  const router = Router();
  router.get(
    '/portal/invitation',
    withInvitation((request, response, joining) => show(request, response, joining)),
  );
  router.post(
    '/portal/invitation',
    ...site.form(
      () => csrfContext,
      withInvitation((request, response, joining) =>
        field(request, 'accept') === 'signed-in'
          ? acceptSignedIn(request, response, joining)
          : acceptAnew(request, response, joining),
      ),
    ),
  );
  return router;
}
