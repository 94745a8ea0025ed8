// Assembles the routes of the portal, where owners and staff manage the members of their facility, and service accounts
// manage their personal access tokens (specification, "Bookings API access"; docs/portal.md).
import { Router } from 'express';
import type { PageServices } from '../services.ts';
import { facilityRoutes } from './facility/facility-pages.ts';
import { historyRoutes } from './facility/history-pages.ts';
import { homeRoutes } from './home-pages.ts';
import { acceptanceRoutes } from './invitations/acceptance-pages.ts';
import { invitationRoutes } from './invitations/invitation-pages.ts';
import { memberRoutes } from './members/member-pages.ts';
import { createPortalPages } from './page.ts';
import { facilityTokenRoutes } from './tokens/facility-token-pages.ts';
import { createSecretPage } from './tokens/secret-page.ts';
import { tokenChangeRoutes } from './tokens/token-change-pages.ts';
import { createTokenPages } from './tokens/token-pages.ts';

export function createPortal(pageServices: PageServices): Router {
  const pages = createPortalPages(pageServices);
  const services = { ...pageServices, pages };
  const secretPage = createSecretPage(services);
  const tokens = createTokenPages(services, secretPage);

  const router = Router();
  router.use(
    acceptanceRoutes(services),
    homeRoutes(services, tokens.showTokens),
    facilityRoutes(services),
    invitationRoutes(services),
    memberRoutes(services),
    facilityTokenRoutes(services),
    historyRoutes(services),
    tokens.routes,
    tokenChangeRoutes(services, secretPage),
  );
  router.use(
    '/portal',
    (_request, response, next) => {
      // The metrics use the route as a label. Without this line, each unknown path would become a label.
      response.locals.route = '/portal/{unknown}';
      next();
    },
    pageServices.site.forSignedIn((_request, response) => pages.notFound(response)),
  );
  return router;
}
