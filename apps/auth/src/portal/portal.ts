// Assembles the routes of the portal, where owners and staff manage the members of their facility, and service accounts
// manage their personal access tokens (specification, "Bookings API access"; docs/portal.md).
import { Router } from 'express';
import { facilityRoutes } from './facility/facility-pages.ts';
import { historyRoutes } from './facility/history-pages.ts';
import { homeRoutes } from './home-pages.ts';
import { type AcceptanceParts, acceptanceRoutes } from './invitations/acceptance-pages.ts';
import { invitationRoutes } from './invitations/invitation-pages.ts';
import { memberRoutes } from './members/member-pages.ts';
import { createPortalPages, type PortalParts } from './page.ts';
import { facilityTokenRoutes } from './tokens/facility-token-pages.ts';
import { createSecretPage } from './tokens/secret-page.ts';
import { tokenChangeRoutes } from './tokens/token-change-pages.ts';
import { createTokenPages } from './tokens/token-pages.ts';

export function createPortal(parts: PortalParts & AcceptanceParts): Router {
  const pages = createPortalPages(parts);
  const secretPage = createSecretPage(parts, pages);
  const { showTokens, routes } = createTokenPages(parts, pages, secretPage);

  const router = Router();
  router.use(acceptanceRoutes(parts, pages));
  router.use(homeRoutes(parts, pages, showTokens));
  router.use(facilityRoutes(parts, pages));
  router.use(invitationRoutes(parts, pages));
  router.use(memberRoutes(parts, pages));
  router.use(facilityTokenRoutes(parts, pages));
  router.use(historyRoutes(parts, pages));
  router.use(routes);
  router.use(tokenChangeRoutes(parts, pages, secretPage));
  router.use(
    '/portal',
    (_request, response, next) => {
      // The metrics use the route as a label. Without this line, each unknown path would become a label.
      response.locals.route = '/portal/{unknown}';
      next();
    },
    parts.site.forSignedIn((_request, response) => pages.notFound(response)),
  );
  return router;
}
