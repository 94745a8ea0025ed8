// Sending an invitation again, and withdrawing it after a page that says what that means.
import { type Request, type Response, Router } from 'express';
import { inWords } from '../html/validation-errors.ts';
import type { Invitation, InvitationStore } from './invitation-store.ts';
import type { Invitations } from './invitations.ts';
import {
  facilityCrumbs,
  facilityPath,
  idOf,
  type ManagedFacility,
  type ManagerHandler,
  type PortalPages,
} from './page.ts';
import { mayInvite, roleWords } from './rules.ts';

export interface InvitationPagesOptions {
  readonly pages: PortalPages;
  readonly store: InvitationStore;
  readonly invitations: Invitations;
}

export function invitationRoutes({ pages, store, invitations }: InvitationPagesOptions): Router {
  const noLonger = (request: Request, response: Response, facility: ManagedFacility): Promise<void> =>
    pages.showMessage(request, response, {
      status: 409,
      title: 'This invitation is no longer open',
      text: 'It was accepted or withdrawn meanwhile.',
      links: [{ href: facility.path, text: `To ${facility.name}` }],
    });

  /** What is not of this facility is not there; what somebody else must do is said so. */
  const withInvitation =
    (
      handler: (
        request: Request,
        response: Response,
        who: Parameters<ManagerHandler>[2] & { invitation: Invitation },
      ) => Promise<void>,
    ): ManagerHandler =>
    async (request, response, who) => {
      const invitation = await store.find(who.facility.id, idOf(request, 'invitationId'));
      if (!invitation) return pages.notFound(request, response);
      if (!mayInvite(who.facility.role, invitation.role)) {
        return pages.notPermitted(request, response, 'Only an owner changes invitations of people.');
      }
      if (invitation.state === 'accepted' || invitation.state === 'withdrawn') {
        return noLonger(request, response, who.facility);
      }
      return handler(request, response, { ...who, invitation });
    };

  const path = '/portal/facilities/:facilityId/invitations/:invitationId';
  const kept = { back: (request: Request) => facilityPath(idOf(request, 'facilityId')) };
  const router = Router();
  router.post(
    `${path}/resend`,
    ...pages.formForManager(
      withInvitation(async (request, response, { signedIn, facility, invitation }) => {
        const outcome = await invitations.resend(invitation, { accountId: signedIn.account.id, address: request.ip });
        if ('wait' in outcome) {
          response.setHeader('Retry-After', String(outcome.wait));
          return pages.showMessage(request, response, {
            status: 429,
            title: 'Too many mails lately',
            text: `Wait ${inWords(outcome.wait)} and send it again then.`,
            tone: 'bad',
            links: [{ href: facility.path, text: `Back to ${facility.name}` }],
          });
        }
        if ('refused' in outcome) return noLonger(request, response, facility);
        response.redirect(303, `${facility.path}?notice=${outcome.mailed ? 'resent' : 'not-mailed'}`);
      }),
      kept,
    ),
  );
  router.get(
    `${path}/withdraw`,
    pages.forManager(
      withInvitation((request, response, { facility, invitation }) =>
        pages.show(
          request,
          response,
          'withdraw',
          { facility, invitation, role: roleWords[invitation.role], action: request.path },
          { title: 'Withdraw this invitation?', crumbs: facilityCrumbs(facility) },
        ),
      ),
    ),
  );
  router.post(
    `${path}/withdraw`,
    ...pages.formForManager(
      withInvitation(async (request, response, { signedIn, facility, invitation }) => {
        const done = await invitations.withdraw(invitation, { accountId: signedIn.account.id, address: request.ip });
        if (done !== 'withdrawn') return noLonger(request, response, facility);
        response.redirect(303, `${facility.path}?notice=withdrawn`);
      }),
      kept,
    ),
  );
  return router;
}
