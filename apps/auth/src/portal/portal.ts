// Assembles the routes of the portal, where owners and staff manage the members of their facility, and service accounts
// manage their personal access tokens (specification, "Bookings API access"; docs/portal.md).
import { type NextFunction, type Request, type Response, Router } from 'express';
import type { SignInServices } from '../interaction/sign-in/start-session.ts';
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

export function createPortal(services: SignInServices): Router {
  const pages = createPortalPages(services);
  const secretPage = createSecretPage(services, pages);
  const { showTokens, routes } = createTokenPages(services, pages, secretPage);

  const router = Router();
  router.use(acceptanceRoutes(services, pages));
  router.use(homeRoutes(services, pages, showTokens));
  router.use(facilityRoutes(services, pages));
  router.use(invitationRoutes(services, pages));
  router.use(memberRoutes(services, pages));
  router.use(facilityTokenRoutes(services, pages));
  router.use(historyRoutes(services, pages));
  router.use(routes);
  router.use(tokenChangeRoutes(services, pages, secretPage));
  router.use(
    '/portal',
    (request: Request, response: Response, next: NextFunction) => {
      // The metrics use the route as a label. Without this line, each unknown path would become a label.
      response.locals.route = '/portal/{unknown}';
      services.site.forSignedIn((_request, unknownResponse) => pages.notFound(unknownResponse))(
        request,
        response,
        next,
      );
    },
    services.site.errorHandler,
  );
  return router;
}
