// Serves `/portal`: the page or list of the facilities of owners and staff, the tokens of service accounts, and for all
// other users an explanation how to get a role.
import { Router } from 'express';
import { roleNames } from '../facilities/roles.ts';
import { queryText } from '../html/forms.ts';
import type { SignedInHandler } from '../html/site.ts';
import { facilityPath, type PortalServices, welcomeNotice } from './page.ts';
import { isManaging } from './rules.ts';
import type { ShowTokens } from './tokens/token-pages.ts';

export function homeRoutes({ members, site, pages }: PortalServices, showTokens: ShowTokens): Router {
  const router = Router();
  router.get(
    '/portal',
    site.forSignedIn(async (request, response, signedIn) => {
      const { account } = signedIn;
      const facilities = await members.findFacilities(account.id);
      // The facility whose invitation the user has just accepted.
      const joined = facilities.find(({ id }) => id === queryText(request, 'welcome'));
      const notice = joined && welcomeNotice(joined);
      if (account.kind === 'service') {
        const showOwnTokens: SignedInHandler = () => {
          // After a sign-in, the query contains the values that the user had typed into the form for a token.
          const keys = ['name', 'expiresInDays', 'access'];
          const [name, expiresInDays, access] = keys.map((key) => queryText(request, key));
          const { facility } = request.query;
          const chosen = facility === undefined ? undefined : [facility].flat().map(String);
          return showTokens(response, signedIn, { name, expiresInDays, access, chosen, notice });
        };
        return pages.asServiceAccount(showOwnTokens)(request, response, signedIn);
      }
      const onlyFacility = facilities.length === 1 ? facilities[0] : undefined;
      if (onlyFacility && isManaging(onlyFacility.role)) {
        return response.redirect(303, `${facilityPath(onlyFacility.id)}${joined ? '?notice=welcome' : ''}`);
      }
      const listed = facilities.map((facility) => ({
        ...facility,
        roleName: roleNames[facility.role],
        path: isManaging(facility.role) ? facilityPath(facility.id) : undefined,
      }));
      if (listed.length > 0) {
        const page = { title: 'Your facilities', width: 'wide', notice } as const;
        return pages.show(response, 'home', { facilities: listed }, page);
      }
      return site.showMessage(response, {
        status: 403,
        tone: 'plain',
        title: 'You have no facility yet',
        text:
          'The portal is for people who run a driving range, and for the software that manages its bookings. Do you ' +
          `work at a driving range? Ask its owner to invite ${account.username}. You get the invitation by e-mail.`,
        links: [{ href: '/account', text: 'Your account' }],
      });
    }),
  );
  return router;
}
