// Serves the page of a member, and those where an owner or staff changes or revokes the role or resets the second
// factors. Each of these first shows the consequences.
import { type Request, type Response, Router } from 'express';
import { describeRole, type FacilityRole, roleNames } from '../../facilities/roles.ts';
import { field } from '../../html/forms.ts';
import { missingProofPath } from '../../html/signed-in.ts';
import { actorOf, breadcrumbsBelowFacility, idParameter, type ManagerHandler, type PortalServices } from '../page.ts';
import { assignableRoles, mayResetFactors, mayRevoke } from '../rules.ts';
import type { Member, RoleChange, RoleChangeError } from './member-store.ts';

type MemberHandler = ManagerHandler<{ readonly member: Member; readonly isSelf: boolean; readonly name: string }>;
type MemberContext = Parameters<MemberHandler>[2];

const roleDetails: Readonly<Partial<Record<FacilityRole, string>>> = {
  owner: describeRole('owner'),
  staff: `${describeRole('staff')} This owner’s staff invitations will be withdrawn.`,
};

export function memberRoutes({ members, factors, audit, facilityEmails, site, pages }: PortalServices): Router {
  /** Runs the handler with the member that the path names. */
  const withMember =
    (handler: MemberHandler): ManagerHandler =>
    async (request, response, context) => {
      const { facility, signedIn } = context;
      const member = await members.find(facility.id, idParameter(request, 'accountId'));
      if (!member) return pages.notFound(response);
      const isSelf = member.accountId === signedIn.account.id;
      return handler(request, response, { ...context, member, isSelf, name: member.name ?? member.username });
    };

  const showError = (response: Response, { facility, isSelf }: MemberContext, error: RoleChangeError) => {
    if (error === 'not-found') return pages.notFound(response);
    if (error === 'not-permitted') {
      const text = 'Staff can revoke service accounts. Only owners can change the roles of people.';
      return pages.notPermitted(response, text);
    }
    return site.showMessage(response, {
      status: 409,
      title: 'A facility must have an owner',
      text: `${isSelf ? 'You are' : 'This is'} the last owner of ${facility.name}. Make somebody else an owner first.`,
      links: [{ href: facility.path, text: `Back to ${facility.name}` }],
    });
  };

  /** Records the change and the withdrawn invitations. Mails the member, or the owners if the member has left. */
  const recordChange = async (
    request: Request,
    { facility, signedIn, member, name, isSelf }: MemberContext,
    kind: 'membership.role-changed' | 'membership.revoked',
    change: Pick<RoleChange, 'withdrawnInvitations'> & { detail: Record<string, string | boolean> },
  ): Promise<void> => {
    const event = { ...actorOf(request, signedIn), facilityId: facility.id };
    for (const { id, email, role } of change.withdrawnInvitations) {
      audit.record({ kind: 'invitation.withdrawn', ...event, detail: { email, role, invitation: id } });
    }
    const changeEvent = { kind, ...event, detail: { account: member.accountId, name, ...change.detail } };
    audit.record(changeEvent);
    await (isSelf
      ? facilityEmails.send(changeEvent, 'owners')
      : facilityEmails.send(changeEvent, 'none', [member.accountId]));
  };

  const showMember: MemberHandler = async (_request, response, { facility, member, isSelf, name }) => {
    const mayReset = mayResetFactors(facility.role, isSelf);
    const hasFactor = mayReset && (await factors.hasSecondFactor(member.accountId));
    const path = `${facility.path}/people/${encodeURIComponent(member.accountId)}`;
    const actions = [
      assignableRoles(facility.role, member.kind, member.role).length > 0 && { page: 'role', text: 'Change role' },
      hasFactor && { page: 'reset-factors', text: 'Reset the second factor' },
      mayRevoke(facility.role, member.role, isSelf) && {
        page: 'revoke',
        text: isSelf ? 'Leave' : 'Revoke the role',
        isDangerous: true,
      },
    ].filter((action) => action !== false);
    const data = {
      facility,
      member,
      roleName: roleNames[member.role],
      roleDetail: describeRole(member.role),
      secondFactor: mayReset && (hasFactor ? 'set up' : 'none'),
      actions: actions.map(({ page, ...action }) => ({ ...action, href: `${path}/${page}` })),
    };
    return pages.show(response, 'member', data, { title: name, breadcrumbs: breadcrumbsBelowFacility(facility) });
  };

  /** Like a change of the user's own factors, a reset needs a fresh sign-in with all factors. */
  const withProof =
    (handler: MemberHandler): MemberHandler =>
    async (request, response, context) => {
      const { facility, member, signedIn, isSelf, name } = context;
      if (!mayResetFactors(facility.role, isSelf)) {
        const text = isSelf
          ? 'Change your own second factors at “Your account”.'
          : 'Only owners can reset the second factor of a member.';
        return pages.notPermitted(response, text);
      }
      const path = `${facility.path}/people/${encodeURIComponent(member.accountId)}/reset-factors`;
      const missing = await missingProofPath(factors, signedIn, path);
      if (missing !== undefined) return response.redirect(303, missing);
      if (await factors.hasSecondFactor(member.accountId)) return handler(request, response, context);
      return site.showMessage(response, {
        status: 409,
        title: `${name} has no second factor`,
        text: 'There is nothing to reset. If the password is lost, the sign-in page sends a link for a new one.',
        links: [{ href: facility.path, text: `Back to ${facility.name}` }],
      });
    };

  const showResetForm: MemberHandler = async (_request, response, { facility, member, name }) => {
    const page = { title: `Reset the second factor of ${name}?`, button: 'Reset the second factor' };
    return pages.confirm(response, facility, 'reset-factors', { member, name }, page);
  };

  const resetMember: MemberHandler = async (request, response, context) => {
    const { facility, member, signedIn, name } = context;
    const others = await members.resetFactors(facility.id, member.accountId, signedIn.account.id);
    if ('error' in others) return showError(response, context, others.error);
    const detail = { account: member.accountId, name };
    const event = { kind: 'factor.reset', ...actorOf(request, signedIn), facilityId: facility.id, detail } as const;
    audit.record(event);
    await facilityEmails.send(event, 'owners');
    // The other facilities do not learn who works here.
    for (const facilityId of others.facilityIds) {
      const elsewhere = { kind: 'factor.reset', facilityId, detail: { ...detail, elsewhere: true } } as const;
      audit.record(elsewhere);
      await facilityEmails.send(elsewhere, 'owners');
    }
    response.redirect(303, `${facility.path}?notice=factors-reset`);
  };

  const showRoleForm: MemberHandler = async (_request, response, context) => {
    const { facility, member, isSelf, name } = context;
    const roles = assignableRoles(facility.role, member.kind, member.role);
    if (roles.length === 0) return showError(response, context, 'not-permitted');
    const options = roles.map((role) => ({ value: role, text: roleNames[role], detail: roleDetails[role] }));
    const data = { isSelf, currentRole: roleNames[member.role], roles: options };
    const page = { title: `Change the role of ${name}`, button: 'Change the role', isDangerous: false };
    return pages.confirm(response, facility, 'role', data, page);
  };

  const changeRole: MemberHandler = async (request, response, context) => {
    const { facility, member, signedIn } = context;
    const requestedRole = field(request, 'role');
    const assignable = assignableRoles(facility.role, member.kind, member.role);
    const role = assignable.find((assignableRole) => assignableRole === requestedRole);
    if (!role) return showError(response, context, 'not-permitted');
    const outcome = await members.changeRole(facility.id, member.accountId, role, signedIn.account.id);
    if ('error' in outcome) return showError(response, context, outcome.error);
    const { previousRole, withdrawnInvitations } = outcome;
    const detail = { from: previousRole, to: role };
    await recordChange(request, context, 'membership.role-changed', { detail, withdrawnInvitations });
    response.redirect(303, `${facility.path}?notice=role-changed`);
  };

  const showRevokeForm: MemberHandler = async (_request, response, context) => {
    const { facility, member, isSelf, name } = context;
    if (!mayRevoke(facility.role, member.role, isSelf)) return showError(response, context, 'not-permitted');
    const page = isSelf
      ? { title: `Leave ${facility.name}?`, button: 'Leave the facility' }
      : { title: `Revoke the role of ${name}?`, button: 'Revoke the role' };
    return pages.confirm(response, facility, 'revoke', { member, isSelf, roleName: roleNames[member.role] }, page);
  };

  const revokeRole: MemberHandler = async (request, response, context) => {
    const { facility, member, isSelf, signedIn } = context;
    // `revoke` itself checks whether the user may revoke the role.
    const outcome = await members.revoke(facility.id, member.accountId, signedIn.account.id);
    if ('error' in outcome) return showError(response, context, outcome.error);
    const { previousRole, withdrawnInvitations } = outcome;
    const detail = { role: previousRole, self: isSelf };
    await recordChange(request, context, 'membership.revoked', { detail, withdrawnInvitations });
    response.redirect(303, isSelf ? '/portal' : `${facility.path}?notice=revoked`);
  };

  const path = '/portal/facilities/:facilityId/people/:accountId';
  const router = Router();
  router.get(path, pages.forManager(withMember(showMember)));
  router.use(
    pages.confirmationForManager(
      `${path}/reset-factors`,
      withMember(withProof(showResetForm)),
      withMember(withProof(resetMember)),
    ),
  );
  router.use(pages.confirmationForManager(`${path}/role`, withMember(showRoleForm), withMember(changeRole)));
  router.use(pages.confirmationForManager(`${path}/revoke`, withMember(showRevokeForm), withMember(revokeRole)));
  return router;
}
