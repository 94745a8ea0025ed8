// The page of a facility: its service accounts, its team, its open invitations, and inviting one more (specification, "Bookings API
// access" 1; contract section 5).
import { type Request, type Response, Router } from 'express';
import { field, queryText } from '../html/form-body.ts';
import { byField, inWords, type ValidationError } from '../html/validation-errors.ts';
import type { SignedIn } from '../interaction/browser-session.ts';
import { isEmailAddress } from '../interaction/email-address.ts';
import type { InvitationStore, InviteRefusal } from './invitation-store.ts';
import type { Invitations } from './invitations.ts';
import type { PeopleStore } from './member-store.ts';
import { facilitiesCrumb, facilityPath, idOf, type ManagedFacility, type PortalPages } from './page.ts';
import {
  type InvitableRole,
  invitableBy,
  invitableRoles,
  mayInvite,
  mayRevoke,
  rolesToGive,
  roleWords,
} from './rules.ts';

export interface FacilityPagesOptions {
  readonly pages: PortalPages;
  readonly people: PeopleStore;
  readonly store: InvitationStore;
  readonly invitations: Invitations;
}

interface Typed {
  readonly validationErrors?: readonly ValidationError[];
  readonly status?: number;
  readonly email?: string;
  readonly role?: string;
}

const notices: Readonly<Record<string, string>> = {
  invited: 'The invitation is on its way. You find it under “Open invitations” until it is accepted.',
  'not-mailed': 'The invitation is made, but its mail could not be sent. Wait a moment, then send it again below.',
  resent: 'A new link is on its way. The link mailed before no longer works.',
  withdrawn: 'The invitation is withdrawn. Its link no longer works.',
  'role-changed': 'The role is changed.',
  revoked: 'The role is revoked.',
};

const refusals: Readonly<Record<Exclude<InviteRefusal, 'not-permitted'>, (role: InvitableRole) => string>> = {
  'already-member': () => 'This address has a role here already.',
  'already-invited': () => 'This address has an open invitation already. You can send it again, or withdraw it, below.',
  'other-kind': (role) =>
    role === 'bookings-manager'
      ? 'This address belongs to a person’s account. A service account needs an address of its own, such as bookings@your-range.example.'
      : 'This address belongs to a service account. Invite the person by an address of their own.',
  'too-many': () => 'A facility can have 500 people and open invitations. Revoke or withdraw some first.',
};

export function facilityRoutes({ pages, people, store, invitations }: FacilityPagesOptions): Router {
  const showFacility = async (
    request: Request,
    response: Response,
    { signedIn, facility }: { signedIn: SignedIn; facility: ManagedFacility },
    { validationErrors = [], status = 200, email = '', role = 'bookings-manager' }: Typed = {},
  ): Promise<void> => {
    const [everybody, open] = await Promise.all([people.of(facility.id), store.openOf(facility.id)]);
    const self = signedIn.account.id;
    const shown = everybody.map((person) => ({
      ...person,
      self: person.accountId === self,
      roleWords: roleWords[person.role],
      path: `${facility.path}/people/${encodeURIComponent(person.accountId)}`,
      mayChange: rolesToGive(facility.role, person.kind, person.role).length > 0,
      mayRevoke: mayRevoke(facility.role, person.role, person.accountId === self),
    }));
    const invitable = invitableBy(facility.role).map((name) => ({ name, words: roleWords[name] }));
    return pages.show(
      request,
      response,
      'facility',
      {
        facility,
        role: roleWords[facility.role],
        serviceAccounts: shown.filter(({ kind }) => kind === 'service'),
        team: shown.filter(({ kind }) => kind === 'user'),
        invitations: open.map((invitation) => ({
          ...invitation,
          roleWords: roleWords[invitation.role],
          path: `${facility.path}/invitations/${encodeURIComponent(invitation.id)}`,
          mayChange: mayInvite(facility.role, invitation.role),
        })),
        invitable,
        validationErrors,
        errors: byField(validationErrors),
        values: { email, role },
      },
      {
        title: validationErrors.length > 0 ? `Error: ${facility.name}` : facility.name,
        status,
        width: 'wide',
        crumbs: facilitiesCrumb(facility),
        notice: notices[queryText(request, 'notice') ?? ''],
      },
    );
  };

  const router = Router();
  const path = '/portal/facilities/:facilityId';
  router.get(
    path,
    pages.forManager((request, response, who) =>
      showFacility(request, response, who, {
        email: queryText(request, 'email') ?? '',
        role: queryText(request, 'role') ?? 'bookings-manager',
      }),
    ),
  );

  router.post(
    `${path}/invitations`,
    ...pages.formForManager(
      async (request, response, who) => {
        const { facility, signedIn } = who;
        const email = field(request, 'email');
        const wanted = field(request, 'role') || 'bookings-manager';
        const role = invitableRoles.find((name) => name === wanted);
        const again = (status: number, validationError: ValidationError) =>
          showFacility(request, response, who, { validationErrors: [validationError], status, email, role: wanted });
        if (!role) return again(400, { field: 'role', text: 'Choose one of the roles.' });
        if (!isEmailAddress(email)) {
          return again(400, { field: 'email', text: 'Enter an e-mail address, such as bookings@your-range.example.' });
        }
        const notPermitted = () =>
          pages.notPermitted(request, response, 'Staff invite service accounts; owners invite people.');
        if (!mayInvite(facility.role, role)) return notPermitted();
        const actor = { accountId: signedIn.account.id, address: request.ip };
        const outcome = await invitations.invite({ facilityId: facility.id, email, role }, actor);
        if ('wait' in outcome) {
          response.setHeader('Retry-After', String(outcome.wait));
          return again(429, {
            field: 'email',
            text: `Too many invitations lately. Wait ${inWords(outcome.wait)} and try again.`,
          });
        }
        if ('refused' in outcome) {
          if (outcome.refused === 'not-permitted') return notPermitted();
          return again(409, { field: 'email', text: refusals[outcome.refused](role) });
        }
        response.redirect(303, `${facility.path}?notice=${outcome.mailed ? 'invited' : 'not-mailed'}`);
      },
      { back: (request) => facilityPath(idOf(request, 'facilityId')), fields: ['email', 'role'] },
    ),
  );
  return router;
}
