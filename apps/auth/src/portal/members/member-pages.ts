// Serves the pages on which the role of a member is changed or revoked. Each page first shows the consequences. The
// role of the last owner of a facility cannot be changed or revoked.
import { type Request, type Response, Router } from 'express';
import type { Audit } from '../../audit/audit.ts';
import type { ClientStore } from '../../clients/store.ts';
import { roleNames } from '../../facilities/role-names.ts';
import { field } from '../../html/form-body.ts';
import {
  actorOf,
  breadcrumbsBelowFacility,
  facilityPath,
  idParameter,
  type ManagerContext,
  type ManagerHandler,
  type PortalPages,
} from '../page.ts';
import { assignableRoles, mayRevoke } from '../rules.ts';
import type { Member, MemberStore, RoleChange, RoleChangeError } from './member-store.ts';

export interface MemberPagesOptions {
  readonly pages: PortalPages;
  readonly members: MemberStore;
  readonly clients: Pick<ClientStore, 'findLongestAccessTokenTtl'>;
  readonly audit: Audit;
}

interface MemberContext extends ManagerContext {
  readonly member: Member;
  readonly isSelf: boolean;
}

type MemberHandler = (request: Request, response: Response, context: MemberContext) => Promise<void>;

const nameOf = ({ name, username }: Member): string => name ?? username;

export function memberRoutes({ pages, members, clients, audit }: MemberPagesOptions): Router {
  /** Runs the handler with the member that the path names. */
  const withMember =
    (handler: MemberHandler): ManagerHandler =>
    async (request, response, context) => {
      const { facility, signedIn } = context;
      const member = await members.find(facility.id, idParameter(request, 'accountId'));
      if (!member) return pages.notFound(request, response);
      return handler(request, response, { ...context, member, isSelf: member.accountId === signedIn.account.id });
    };

  const showError = (
    request: Request,
    response: Response,
    { facility, isSelf }: MemberContext,
    error: RoleChangeError,
  ): Promise<void> => {
    if (error === 'not-found') return pages.notFound(request, response);
    if (error === 'not-permitted') {
      const text = 'Staff can revoke service accounts. Only owners can change the roles of people.';
      return pages.notPermitted(request, response, text);
    }
    // The remaining error is `last-owner`.
    return pages.showMessage(request, response, {
      status: 409,
      title: 'A facility must have an owner',
      text: `${isSelf ? 'You are' : 'This is'} the last owner of ${facility.name}. Make somebody else an owner first.`,
      tone: 'bad',
      links: [{ href: facility.path, text: `Back to ${facility.name}` }],
    });
  };

  /**
   * Records in the history of the facility that a role was changed or revoked, and which invitations were withdrawn
   * because of this change.
   */
  const recordChange = (
    request: Request,
    { facility, signedIn, member }: MemberContext,
    kind: string,
    change: Pick<RoleChange, 'withdrawnInvitations'> & { detail: Record<string, string | boolean> },
  ): void => {
    const event = { ...actorOf(request, signedIn), facilityId: facility.id };
    for (const { id, email, role } of change.withdrawnInvitations) {
      audit.record({ kind: 'invitation.withdrawn', ...event, detail: { email, role, invitation: id } });
    }
    audit.record({ kind, ...event, detail: { account: member.accountId, name: nameOf(member), ...change.detail } });
  };

  const showRoleForm: MemberHandler = async (request, response, context) => {
    const { facility, member, isSelf } = context;
    const roles = assignableRoles(facility.role, member.kind, member.role);
    if (roles.length === 0) return showError(request, response, context, 'not-permitted');
    const name = nameOf(member);
    return pages.show(
      request,
      response,
      'role',
      {
        facility,
        isSelf,
        name,
        currentRole: roleNames[member.role],
        roles: roles.map((role) => ({ role, text: roleNames[role] })),
        action: request.path,
      },
      { title: `Change the role of ${name}`, breadcrumbs: breadcrumbsBelowFacility(facility) },
    );
  };

  const changeRole: MemberHandler = async (request, response, context) => {
    const { facility, member, signedIn } = context;
    const requestedRole = field(request, 'role');
    const assignable = assignableRoles(facility.role, member.kind, member.role);
    const role = assignable.find((assignableRole) => assignableRole === requestedRole);
    if (!role) return showError(request, response, context, 'not-permitted');
    const outcome = await members.changeRole(facility.id, member.accountId, role, signedIn.account.id);
    if ('error' in outcome) return showError(request, response, context, outcome.error);
    const { previousRole, withdrawnInvitations } = outcome;
    const detail = { from: previousRole, to: role };
    recordChange(request, context, 'membership.role-changed', { detail, withdrawnInvitations });
    response.redirect(303, `${facility.path}?notice=role-changed`);
  };

  const showRevokeForm: MemberHandler = async (request, response, context) => {
    const { facility, member, isSelf } = context;
    if (!mayRevoke(facility.role, member.role, isSelf)) {
      return showError(request, response, context, 'not-permitted');
    }
    const name = nameOf(member);
    return pages.show(
      request,
      response,
      'revoke',
      {
        facility,
        member,
        isSelf,
        name,
        roleName: roleNames[member.role],
        // The page says how long access tokens that were already issued still work.
        accessTokenTtl: await clients.findLongestAccessTokenTtl(),
        action: request.path,
      },
      {
        title: isSelf ? `Leave ${facility.name}?` : `Revoke the role of ${name}?`,
        breadcrumbs: breadcrumbsBelowFacility(facility),
      },
    );
  };

  const revokeRole: MemberHandler = async (request, response, context) => {
    const { facility, member, isSelf, signedIn } = context;
    // `revoke` itself checks whether the user may revoke the role.
    const outcome = await members.revoke(facility.id, member.accountId, signedIn.account.id);
    if ('error' in outcome) return showError(request, response, context, outcome.error);
    const { previousRole, withdrawnInvitations } = outcome;
    const detail = { role: previousRole, self: isSelf };
    recordChange(request, context, 'membership.revoked', { detail, withdrawnInvitations });
    response.redirect(303, isSelf ? '/portal' : `${facility.path}?notice=revoked`);
  };

  const path = '/portal/facilities/:facilityId/people/:accountId';
  /** A user who must sign in before a change returns to the page of the facility. */
  const afterSignIn = { returnTo: (request: Request) => facilityPath(idParameter(request, 'facilityId')) };
  const router = Router();
  router.get(`${path}/role`, pages.forManager(withMember(showRoleForm)));
  router.post(`${path}/role`, ...pages.formForManager(withMember(changeRole), afterSignIn));
  router.get(`${path}/revoke`, pages.forManager(withMember(showRevokeForm)));
  router.post(`${path}/revoke`, ...pages.formForManager(withMember(revokeRole), afterSignIn));
  return router;
}
