// Serves the pages where the role of a member is changed or revoked. Each page first shows the consequences.

import { type Request, type Response, Router } from 'express';
import type { Audit } from '../../audit/audit.ts';
import { type FacilityRole, roleNames } from '../../facilities/roles.ts';
import { field } from '../../html/forms.ts';
import type { Site } from '../../html/site.ts';
import type { FacilityEmails } from '../facility-emails.ts';
import { actorOf, idParameter, type ManagerContext, type ManagerHandler, type PortalPages } from '../page.ts';
import { assignableRoles, mayRevoke } from '../rules.ts';
import type { Member, MemberStore, RoleChange, RoleChangeError } from './member-store.ts';

interface MemberContext extends ManagerContext {
  readonly member: Member;
  readonly isSelf: boolean;
  readonly name: string;
}

type MemberHandler = (request: Request, response: Response, context: MemberContext) => Promise<void>;

const roleDetails: Readonly<Partial<Record<FacilityRole, string>>> = {
  owner: 'Can do everything here, including inviting and removing people and other owners.',
  staff: 'Sees the people, and invites and removes service accounts. This owner’s staff invitations will be withdrawn.',
};

export function memberRoutes({
  members,
  audit,
  facilityEmails,
  site,
  pages,
}: {
  readonly members: MemberStore;
  readonly audit: Audit;
  readonly facilityEmails: FacilityEmails;
  readonly site: Site;
  readonly pages: PortalPages;
}): Router {
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
  router.use(pages.confirmationForManager(`${path}/role`, withMember(showRoleForm), withMember(changeRole)));
  router.use(pages.confirmationForManager(`${path}/revoke`, withMember(showRevokeForm), withMember(revokeRole)));
  return router;
}
