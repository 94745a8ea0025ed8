// Assembles the routes of the portal, where owners and staff manage the members of their facility, and service accounts
// manage their personal access tokens (specification, "Bookings API access"; docs/portal.md).
import { type NextFunction, type Request, type Response, Router } from 'express';
import { assetRoutes } from '../html/asset.ts';
import { type FacilityPagesOptions, facilityRoutes } from './facility/facility-pages.ts';
import { type HistoryPagesOptions, historyRoutes } from './facility/history-pages.ts';
import { homeRoutes } from './home-pages.ts';
import { type AcceptancePagesOptions, acceptanceRoutes } from './invitations/acceptance-pages.ts';
import { type InvitationPagesOptions, invitationRoutes } from './invitations/invitation-pages.ts';
import { type MemberPagesOptions, memberRoutes } from './members/member-pages.ts';
import { createPortalPages, type PortalPagesOptions, portalAssets } from './page.ts';
import { createSecretPage, type SecretPageOptions } from './tokens/secret-page.ts';
import { type TokenChangePagesOptions, tokenChangeRoutes } from './tokens/token-change-pages.ts';
import { createTokenPages, type TokenPagesOptions } from './tokens/token-pages.ts';

/** Everything that the pages of the portal use. They create `pages` and `secretPage` themselves. */
export type PortalOptions = Omit<
  AcceptancePagesOptions &
    FacilityPagesOptions &
    HistoryPagesOptions &
    InvitationPagesOptions &
    MemberPagesOptions &
    PortalPagesOptions &
    SecretPageOptions &
    TokenChangePagesOptions &
    TokenPagesOptions,
  'pages' | 'secretPage'
>;

export function createPortal(options: PortalOptions): Router {
  const pages = createPortalPages(options);
  const withPages = { ...options, pages };
  const withSecretPage = { ...withPages, secretPage: createSecretPage(withPages) };
  const tokenPages = createTokenPages(withSecretPage);

  const router = Router();
  router.use(assetRoutes(portalAssets));
  router.use(acceptanceRoutes(withPages));
  router.use(homeRoutes({ ...withPages, showTokens: tokenPages.showTokens }));
  router.use(facilityRoutes(withPages));
  router.use(invitationRoutes(withPages));
  router.use(memberRoutes(withPages));
  router.use(historyRoutes(withPages));
  router.use(tokenPages.routes);
  router.use(tokenChangeRoutes(withSecretPage));
  router.use(
    '/portal',
    (request: Request, response: Response, next: NextFunction) => {
      // The metrics use the route as a label. Without this line, each unknown path would become a label.
      response.locals.route = '/portal/{unknown}';
      pages.forSignedIn((_request, unknownResponse) => pages.notFound(unknownResponse))(request, response, next);
    },
    options.site.errorHandler,
  );
  return router;
}
