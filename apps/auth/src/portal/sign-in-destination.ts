// Finds the name of the facility or page to which a user signs in. The sign-in page shows this name.
import type { Database } from '@bay-booking/service/database/database';
import type { NameDestination } from '../interaction/direct-sign-in-routes.ts';
import { createInvitationStore } from './invitation-store.ts';
import { createMemberStore } from './member-store.ts';
import { facilityPath } from './page.ts';

/**
 * The name of a facility is returned only to its members, and to users with the link of an invitation. For all other
 * paths of the portal, the name is `the portal`. Pages outside of the portal have no name.
 */
export function createSignInDestination({ db }: { db: Database }): NameDestination {
  const invitations = createInvitationStore({ db });
  const members = createMemberStore({ db });
  return async (path, signedIn) => {
    // The host is not used.
    const { pathname, searchParams } = new URL(path, 'http://local.invalid');
    if (pathname !== '/portal' && !pathname.startsWith('/portal/')) return undefined;
    if (pathname === '/portal/invitation') {
      const invitation = await invitations.findByToken(searchParams.get('token') ?? '');
      if (invitation) return invitation.facilityName;
    }
    const facilities = signedIn ? await members.findFacilities(signedIn.account.id) : [];
    const facility = facilities.find(({ id }) => `${pathname}/`.startsWith(`${facilityPath(id)}/`));
    return facility?.name ?? 'the portal';
  };
}
