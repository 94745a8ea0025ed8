// Finds the name of the facility or page that a user opens by signing in. The sign-in page shows this name.
import type { Database } from '@bay-booking/service/database/database';
import type { NameDestination } from '../interaction/sign-in/direct-sign-in-routes.ts';
import { createInvitationStore } from './invitations/invitation-store.ts';
import { createMemberStore } from './members/member-store.ts';
import { facilityPath } from './page.ts';

/**
 * Returns a function that names the page to which a user goes after the sign-in. For a page of a facility, it returns
 * the name of the facility, but only to members of the facility and to users with the link of an invitation. For all
 * other pages of the portal, it returns `the portal`, and for pages outside of the portal, undefined.
 */
export function createSignInDestination({ db }: { db: Database }): NameDestination {
  const invitations = createInvitationStore({ db });
  const members = createMemberStore({ db });
  return async (path, signedIn) => {
    // `new URL` needs a host, but only the path and the query are used.
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
