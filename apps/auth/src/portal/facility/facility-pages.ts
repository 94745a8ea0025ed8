// Serves the page of a facility. The page lists the service accounts, the team and the open invitations, and has a form
// to invite members (specification, "Bookings API access", step 1).
import { type Request, type Response, Router } from 'express';
import { isEmailAddress } from '../../accounts/field-rules.ts';
import { roleNames } from '../../facilities/role-names.ts';
import { field, queryText, textOfKey } from '../../html/form-body.ts';
import { setRetryAfterAndExplain, type ValidationError } from '../../html/validation-errors.ts';
import { type InvitationError, type InvitationStore, maxMembers } from '../invitations/invitation-store.ts';
import type { Invitations } from '../invitations/invitations.ts';
import type { Member, MemberStore } from '../members/member-store.ts';
import {
  actorOf,
  breadcrumbsOfFacilityPage,
  facilityPath,
  idParameter,
  type ManagedFacility,
  type ManagerContext,
  type ManagerHandler,
  type PortalPages,
  welcomeNotice,
} from '../page.ts';
import { assignableRoles, type InvitableRole, invitableBy, invitableRoles, mayInvite, mayRevoke } from '../rules.ts';

export interface FacilityPagesOptions {
  readonly pages: PortalPages;
  readonly members: MemberStore;
  readonly store: InvitationStore;
  readonly invitations: Invitations;
}

/** The values and errors with which the page shows the form to invite members, and the HTTP status of the page. */
interface InviteForm {
  readonly validationErrors?: readonly ValidationError[];
  readonly status?: number;
  readonly email?: string | undefined;
  readonly role?: string | undefined;
}

const defaultRole: InvitableRole = 'bookings-manager';

/**
 * The texts that confirm a change. After the change, the query parameter `notice` of the redirect is the key of a text.
 * The pages that change members and invitations also redirect to the page of the facility.
 */
const notices: Readonly<Record<string, string>> = {
  invited: 'The invitation is on its way. It is listed under “Open invitations” until it is accepted.',
  'not-mailed': 'The invitation was created, but its e-mail could not be sent. Try to send it again below.',
  resent: 'A new link is on its way. The previous link no longer works.',
  withdrawn: 'The invitation is withdrawn. Its link no longer works.',
  'role-changed': 'The role is changed.',
  revoked: 'The role is revoked.',
};

const errorTexts: Readonly<Record<Exclude<InvitationError, 'not-permitted'>, (role: InvitableRole) => string>> = {
  'already-member': () => 'This address already has a role here.',
  'already-invited': () => 'This address already has an open invitation. You can send it again or withdraw it below.',
  'other-kind': (role) =>
    role === 'bookings-manager'
      ? 'This address belongs to a person’s account. A service account needs its own address, such as ' +
        'bookings@your-range.example.'
      : 'This address belongs to a service account. Invite people by their own address.',
  'too-many': () => `A facility can have ${maxMembers} members and open invitations. Revoke or withdraw some first.`,
};

/**
 * Adds to each member what the page shows about the member, and which changes the signed-in user may make.
 * `facility.role` is the role of the signed-in user.
 */
function describeMembers(members: readonly Member[], ownAccountId: string, facility: ManagedFacility) {
  const activeOwners = members.filter(({ role, isDisabled }) => role === 'owner' && !isDisabled);
  return members.map((member) => {
    const isSelf = member.accountId === ownAccountId;
    const isOnlyOwner = activeOwners.length === 1 && member.accountId === activeOwners[0]?.accountId;
    return {
      ...member,
      isSelf,
      isOnlyOwner,
      roleName: roleNames[member.role],
      path: `${facility.path}/people/${encodeURIComponent(member.accountId)}`,
      mayChange: !isOnlyOwner && assignableRoles(facility.role, member.kind, member.role).length > 0,
      mayRevoke: !isOnlyOwner && mayRevoke(facility.role, member.role, isSelf),
    };
  });
}

export function facilityRoutes({ pages, members, store, invitations }: FacilityPagesOptions): Router {
  const showFacility = async (
    request: Request,
    response: Response,
    { signedIn, facility }: ManagerContext,
    { email = '', role = defaultRole, validationErrors, status }: InviteForm = {},
  ): Promise<void> => {
    const [allMembers, undecided] = await Promise.all([
      members.findByFacility(facility.id),
      store.findUndecided(facility.id),
    ]);
    const listed = describeMembers(allMembers, signedIn.account.id, facility);
    const notice = queryText(request, 'notice') ?? '';
    return pages.show(
      request,
      response,
      'facility',
      {
        facility,
        roleName: roleNames[facility.role],
        serviceAccounts: listed.filter(({ kind }) => kind === 'service'),
        team: listed.filter(({ kind }) => kind === 'user'),
        invitations: undecided.map((invitation) => ({
          ...invitation,
          roleName: roleNames[invitation.role],
          path: `${facility.path}/invitations/${encodeURIComponent(invitation.id)}`,
          mayChange: mayInvite(facility.role, invitation.role),
        })),
        invitableRoles: invitableBy(facility.role).map((name) => ({ name, text: roleNames[name] })),
        values: { email, role },
      },
      {
        title: facility.name,
        width: 'wide',
        breadcrumbs: breadcrumbsOfFacilityPage(facility),
        notice: notice === 'welcome' ? welcomeNotice(facility) : textOfKey(notices, notice),
        validationErrors,
        status,
      },
    );
  };

  const submitInvitation: ManagerHandler = async (request, response, context) => {
    const { facility, signedIn } = context;
    const email = field(request, 'email');
    const requestedRole = field(request, 'role') || defaultRole;
    const role = invitableRoles.find((name) => name === requestedRole);
    const showError = (status: number, error: ValidationError) =>
      showFacility(request, response, context, { validationErrors: [error], status, email, role: requestedRole });
    const notPermitted = () =>
      pages.notPermitted(request, response, 'Staff can invite service accounts. Only owners can invite people.');

    if (!role) return showError(400, { field: 'role', text: 'Choose one of the roles.' });
    if (!isEmailAddress(email)) {
      const text = 'Enter an e-mail address, such as bookings@your-range.example.';
      return showError(400, { field: 'email', text });
    }
    if (!mayInvite(facility.role, role)) return notPermitted();
    const outcome = await invitations.invite({ facilityId: facility.id, email, role }, actorOf(request, signedIn));
    if ('waitSeconds' in outcome) {
      const text = setRetryAfterAndExplain(response, outcome.waitSeconds, 'Too many invitations were sent.');
      return showError(429, { field: 'email', text });
    }
    if ('error' in outcome) {
      if (outcome.error === 'not-permitted') return notPermitted();
      return showError(409, { field: 'email', text: errorTexts[outcome.error](role) });
    }
    response.redirect(303, `${facility.path}?notice=${outcome.isMailed ? 'invited' : 'not-mailed'}`);
  };

  const router = Router();
  const path = '/portal/facilities/:facilityId';
  router.get(
    path,
    pages.forManager((request, response, context) =>
      showFacility(request, response, context, {
        // If a user had to sign in to submit the form, these parameters contain the entered values.
        email: queryText(request, 'email'),
        role: queryText(request, 'role'),
      }),
    ),
  );

  router.post(
    `${path}/invitations`,
    // If the user must first sign in again, the user then returns to `returnTo`, with the values of `fields` in the
    // query.
    ...pages.formForManager(submitInvitation, {
      returnTo: (request) => facilityPath(idParameter(request, 'facilityId')),
      fields: ['email', 'role'],
    }),
  );
  return router;
}
