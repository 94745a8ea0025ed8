// Handles the buttons that send an invitation again and that withdraw it, after a confirmation.
import { type Response, Router } from 'express';
import { roleNames } from '../../facilities/roles.ts';
import { setRetryAfterAndExplain } from '../../html/forms.ts';
import { actorOf, idParameter, type ManagedFacility, type ManagerHandler, type PortalServices } from '../page.ts';
import { mayInvite } from '../rules.ts';
import type { Invitation } from './invitation-store.ts';

type InvitationHandler = ManagerHandler<{ readonly invitation: Invitation }>;

export function invitationRoutes({ invitationStore, invitations, site, pages }: PortalServices): Router {
  const showNotOpen = (response: Response, facility: ManagedFacility): Promise<void> =>
    site.showMessage(response, {
      status: 409,
      title: 'This invitation is no longer open',
      text: 'The invitation was accepted or withdrawn.',
      links: [{ href: facility.path, text: `Go to ${facility.name}` }],
    });

  /** Runs the handler if the invitation is undecided, and if the user may invite members with its role. */
  const withInvitation =
    (handler: InvitationHandler): ManagerHandler =>
    async (request, response, context) => {
      const { facility } = context;
      const invitation = await invitationStore.find(facility.id, idParameter(request, 'invitationId'));
      if (!invitation) return pages.notFound(response);
      if (!mayInvite(facility.role, invitation.role)) {
        return pages.notPermitted(response, 'Only owners can change the invitation of a person.');
      }
      if (invitation.state === 'accepted' || invitation.state === 'withdrawn') return showNotOpen(response, facility);
      return handler(request, response, { ...context, invitation });
    };

  const resend: InvitationHandler = async (request, response, { signedIn, facility, invitation }) => {
    const outcome = await invitations.resend(invitation, actorOf(request, signedIn));
    if ('waitSeconds' in outcome) {
      return site.showMessage(response, {
        status: 429,
        title: 'Too many e-mails',
        text: setRetryAfterAndExplain(response, outcome.waitSeconds, 'Too many invitations were sent.'),
        links: [{ href: facility.path, text: `Back to ${facility.name}` }],
      });
    }
    if ('error' in outcome) return showNotOpen(response, facility);
    response.redirect(303, `${facility.path}?notice=${outcome.isMailed ? 'resent' : 'not-mailed'}`);
  };

  const showWithdrawForm: InvitationHandler = (_request, response, { facility, invitation }) => {
    const data = { invitation, roleName: roleNames[invitation.role] };
    const page = { title: 'Withdraw this invitation?', button: 'Withdraw the invitation' };
    return pages.confirm(response, facility, 'withdraw', data, page);
  };

  const withdraw: InvitationHandler = async (request, response, { signedIn, facility, invitation }) => {
    const outcome = await invitations.withdraw(invitation, actorOf(request, signedIn));
    if ('error' in outcome) return showNotOpen(response, facility);
    response.redirect(303, `${facility.path}?notice=withdrawn`);
  };

  const path = '/portal/facilities/:facilityId/invitations/:invitationId';
  const router = Router();
  router.post(`${path}/resend`, ...pages.formForManager(withInvitation(resend)));
  router.use(
    pages.confirmationForManager(`${path}/withdraw`, withInvitation(showWithdrawForm), withInvitation(withdraw)),
  );
  return router;
}
