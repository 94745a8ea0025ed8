// Finds the name of the facility or page that a user opens by signing in. The sign-in page shows this name.
import type { NameDestination } from '../interaction/sign-in/direct-sign-in-routes.ts';
import type { InvitationStore } from './invitations/invitation-store.ts';
import type { MemberStore } from './members/member-store.ts';
import { facilityPath } from './page.ts';

/** Only members of a facility, and users with the link of an invitation, see the name of the facility. */
export const createSignInDestination =
  ({ invitationStore, members }: { invitationStore: InvitationStore; members: MemberStore }): NameDestination =>
  async (path, signedIn) => {
    const { pathname, searchParams } = new URL(path, 'http://local.invalid');
    if (pathname !== '/portal' && !pathname.startsWith('/portal/')) return undefined;
    if (pathname === '/portal/invitation') {
      const invitation = await invitationStore.findByToken(searchParams.get('token') ?? '');
      if (invitation) return invitation.facilityName;
    }
    const facilities = signedIn ? await members.findFacilities(signedIn.account.id) : [];
    const facility = facilities.find(({ id }) => `${pathname}/`.startsWith(`${facilityPath(id)}/`));
    return facility?.name ?? 'the portal';
  };
