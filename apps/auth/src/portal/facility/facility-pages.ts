// Serves the page of a facility with its service accounts, team and open invitations, and the form to invite members
// (specification, "Bookings API access", step 1).
import { type Response, Router } from 'express';
import { describeRole, roleNames } from '../../facilities/roles.ts';
import { type FormError, field, queryText, setRetryAfterAndExplain, textOfKey } from '../../html/forms.ts';
import type { FormState } from '../../html/site.ts';
import { validateEmailAddress } from '../../input/field-rules.ts';
import { readName } from '../../input/username.ts';
import { type InvitationError, maxMembers } from '../invitations/invitation-store.ts';
import type { Member } from '../members/member-store.ts';
import {
  actorOf,
  breadcrumbsOfFacilityPage,
  type ManagedFacility,
  type ManagerContext,
  type ManagerHandler,
  type PortalServices,
  welcomeNotice,
} from '../page.ts';
import {
  accountKindFor,
  assignableRoles,
  type InvitableRole,
  invitableBy,
  invitableRoles,
  mayInvite,
  mayRevoke,
} from '../rules.ts';

/** The state of the form to invite members. */
interface InviteForm extends FormState {
  readonly email?: string | undefined;
  readonly role?: string | undefined;
}

/** The role if the request names none. */
const defaultRole: InvitableRole = 'bookings-manager';

/** The texts that confirm a change of members and invitations. The query parameter `notice` is the key of a text. */
const notices: Readonly<Record<string, string>> = {
  invited: 'The invitation is on its way. It is listed under “Open invitations” until it is accepted.',
  'not-mailed': 'The invitation was created, but its e-mail could not be sent. Try to send it again below.',
  resent: 'A new link is on its way. The previous link no longer works.',
  withdrawn: 'The invitation was withdrawn. Its link no longer works.',
  'factor-required': 'Everybody here now needs a second factor.',
  'factor-optional': 'A second factor is no longer required here.',
  'role-changed': 'The role was changed.',
  revoked: 'The role was revoked.',
  'factors-reset': 'The second factor was reset. The member was signed out everywhere and gets an e-mail.',
};

const errorTexts: Readonly<Record<Exclude<InvitationError, 'not-permitted'>, (role: InvitableRole) => string>> = {
  'facility-disabled': () => 'The operator of the service disabled this facility.',
  'already-member': () => 'This address already has a role here.',
  'already-invited': () => 'This address already has an open invitation. You can send it again or withdraw it below.',
  'other-kind': (role) =>
    accountKindFor(role) === 'service'
      ? 'This address belongs to a person’s account. A service account needs its own address, such as ' +
        'bookings@your-range.example.'
      : 'This address belongs to a service account. Invite people by their own address.',
  'too-many': () => `A facility can have ${maxMembers} members and open invitations. Revoke or withdraw some first.`,
};

/** Adds to each member what the page shows, and which changes the signed-in user may make. */
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

export function facilityRoutes(services: PortalServices): Router {
  const { audit, members, facilityEmails, invitationStore, invitations, pages } = services;

  const showFacility = async (
    response: Response,
    { signedIn, facility }: ManagerContext,
    { email = '', role = invitableBy(facility.role)[0], ...state }: InviteForm = {},
  ): Promise<void> => {
    const [allMembers, undecided] = await Promise.all([
      members.findByFacility(facility.id),
      invitationStore.findUndecided(facility.id),
    ]);
    const listed = describeMembers(allMembers, signedIn.account.id, facility);
    const notice = queryText(response.req, 'notice') ?? '';
    return pages.show(
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
        invitableRoles: invitableBy(facility.role).map((name) => ({
          value: name,
          text: `${roleNames[name]}, for ${accountKindFor(name) === 'service' ? 'software' : 'a person'}`,
          detail: describeRole(name),
        })),
        mayRequireSecondFactor: facility.role === 'owner',
        mayInvitePeople: mayInvite(facility.role, 'staff'),
        values: { email, role },
      },
      {
        title: facility.name,
        width: 'wide',
        breadcrumbs: breadcrumbsOfFacilityPage(facility),
        notice: notice === 'welcome' ? welcomeNotice(facility) : textOfKey(notices, notice),
        ...state,
      },
    );
  };

  const submitInvitation: ManagerHandler = async (request, response, context) => {
    const { facility, signedIn } = context;
    const email = readName(field(request, 'email')).shown;
    const requestedRole = field(request, 'role') || defaultRole;
    const role = invitableRoles.find((name) => name === requestedRole);
    const showError = (status: number, error: FormError) =>
      showFacility(response, context, { validationErrors: [error], status, email, role: requestedRole });
    const notPermitted = () =>
      pages.notPermitted(response, 'Staff can invite service accounts. Only owners can invite people.');

    if (!role) return showError(400, { field: 'role', text: 'Choose one of the roles.' });
    const emailError = validateEmailAddress(email, 'bookings@your-range.example');
    if (emailError) return showError(400, { field: 'email', text: emailError });
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

  const requireSecondFactor: ManagerHandler = async (request, response, { signedIn, facility }) => {
    const isRequired = field(request, 'requireSecondFactor') !== '';
    const { account } = signedIn;
    if (!(await members.setSecondFactorRequired(facility.id, isRequired, account.id))) {
      return pages.notPermitted(response, 'Only owners can require a second factor.');
    }
    const kind = isRequired ? 'facility.second-factor-required' : 'facility.second-factor-optional';
    if (isRequired !== facility.requiresSecondFactor) {
      const event = { ...actorOf(request, signedIn), facilityId: facility.id };
      audit.record({ kind, ...event });
      if (isRequired) await facilityEmails.send({ kind: 'facility.second-factor-required', ...event }, 'all');
    }
    response.redirect(303, `${facility.path}?notice=${isRequired ? 'factor-required' : 'factor-optional'}`);
  };

  const router = Router();
  const path = '/portal/facilities/:facilityId';
  router.get(
    path,
    pages.forManager((request, response, context) =>
      // After a sign-in, the query contains the values that the user had typed into the form.
      showFacility(response, context, { email: queryText(request, 'email'), role: queryText(request, 'role') }),
    ),
  );
  router.post(`${path}/invitations`, ...pages.formForManager(submitInvitation, ['email', 'role']));
  router.post(`${path}/second-factor`, ...pages.formForManager(requireSecondFactor));
  return router;
}
