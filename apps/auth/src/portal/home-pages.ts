// Serves `/portal`, the first page of the portal. Owners and staff get the page of their facility, or a list if they
// have several facilities. Service accounts get the list of their tokens. All other users get a page that explains how
// to get a role.
import { type Request, type Response, Router } from 'express';
import { roleNames } from '../facilities/role-names.ts';
import { queryText } from '../html/form-body.ts';
import type { MemberStore } from './members/member-store.ts';
import { facilityPath, type PortalPages, welcomeNotice } from './page.ts';
import { isManaging } from './rules.ts';
import type { ShowTokens } from './tokens/token-pages.ts';

export interface HomePagesOptions {
  readonly pages: PortalPages;
  readonly members: Pick<MemberStore, 'findFacilities'>;
  readonly showTokens: ShowTokens;
}

/** The path to which a user is redirected after accepting an invitation. The page then welcomes the user. */
export const welcomePath = (facilityId: string): string => `/portal?welcome=${encodeURIComponent(facilityId)}`;

export function homeRoutes({ pages, members, showTokens }: HomePagesOptions): Router {
  const showHome = pages.forSignedIn(async (request: Request, response: Response, signedIn) => {
    const { account } = signedIn;
    const facilities = await members.findFacilities(account.id);
    // The facility whose invitation the user has just accepted.
    const joined = facilities.find(({ id }) => id === queryText(request, 'welcome'));
    const notice = joined && welcomeNotice(joined);
    if (account.kind === 'service') {
      // A user may have to sign in again before a token is created. After the sign-in, the query contains the values
      // that the user had typed into the form for the token.
      const values = { name: queryText(request, 'name'), expiresInDays: queryText(request, 'expiresInDays') };
      return showTokens(request, response, signedIn, { ...values, notice });
    }
    const onlyFacility = facilities.length === 1 ? facilities[0] : undefined;
    if (onlyFacility && isManaging(onlyFacility.role)) {
      // The page of the facility shows the notice.
      return response.redirect(303, `${facilityPath(onlyFacility.id)}${joined ? '?notice=welcome' : ''}`);
    }
    const listed = facilities.map((facility) => ({
      ...facility,
      roleName: roleNames[facility.role],
      // Only owners and staff may open the page of the facility. For other members, the list shows no link.
      path: isManaging(facility.role) ? facilityPath(facility.id) : undefined,
    }));
    return pages.show(
      request,
      response,
      'home',
      { facilities: listed, username: account.username },
      listed.length > 0
        ? { title: 'Your facilities', width: 'wide', notice }
        : // Without a role at a facility, the user may not use the portal.
          { title: 'You have no facility yet', status: 403 },
    );
  });

  const router = Router();
  router.get('/portal', showHome);
  return router;
}
