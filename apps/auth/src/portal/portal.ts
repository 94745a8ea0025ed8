// Creates the pages of the portal. Owners and staff manage the members of their facility there, and service accounts
// manage their personal access tokens (specification, "Bookings API access"; docs/portal.md).
import type { Database } from '@bay-booking/service/database/database';
import { type NextFunction, type Request, type Response, Router } from 'express';
import type { AccountStore } from '../accounts/store.ts';
import type { ClientStore } from '../clients/store.ts';
import type { FacilityStore } from '../facilities/store.ts';
import type { FailureCounterFactory } from '../guard/failure-counter.ts';
import { nameKey } from '../guard/keys.ts';
import { createUsageLimit, type UsageLimit } from '../guard/usage-limit.ts';
import { assetRoutes } from '../html/asset.ts';
import type { Site } from '../html/site.ts';
import type { SharedServices } from '../http/shared-services.ts';
import type { BrowserSessions } from '../interaction/sign-in/browser-session.ts';
import type { OutboxMailer } from '../mail/outbox-mailer.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import { portalAssets } from './assets.ts';
import { facilityRoutes } from './facility/facility-pages.ts';
import { historyRoutes } from './facility/history-pages.ts';
import { createHistoryStore } from './facility/history-store.ts';
import { homeRoutes } from './home-pages.ts';
import { acceptanceRoutes } from './invitations/acceptance-pages.ts';
import { createAcceptanceStore } from './invitations/acceptance-store.ts';
import { invitationRoutes } from './invitations/invitation-pages.ts';
import { createInvitationStore } from './invitations/invitation-store.ts';
import { createInvitations } from './invitations/invitations.ts';
import { memberRoutes } from './members/member-pages.ts';
import { createMemberStore } from './members/member-store.ts';
import { createPortalPages } from './page.ts';
import { createSecretPage } from './tokens/secret-page.ts';
import { createSubmittedForms } from './tokens/submitted-form-store.ts';
import { tokenChangeRoutes } from './tokens/token-change-pages.ts';
import { createTokenPages } from './tokens/token-pages.ts';
import { createTokens } from './tokens/tokens.ts';

export interface PortalOptions {
  readonly db: Database;
  readonly shared: SharedServices;
  readonly scopes: Pick<ScopeTable, 'bookings'>;
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly accounts: AccountStore;
  readonly clients: ClientStore;
  readonly facilities: FacilityStore;
  readonly mailer: OutboxMailer;
  readonly createCounter: FailureCounterFactory;
  readonly newPasswordLimit: UsageLimit;
}

/** The tabs of the pages of a facility. `path` is relative to the page of the facility. */
const facilityTabs = [
  { path: '', text: 'People' },
  { path: '/history', text: 'History' },
];

export function createPortal(options: PortalOptions): Router {
  const { db, shared, site, sessions, accounts, clients, facilities, mailer, createCounter } = options;
  const members = createMemberStore({ db });
  const invitationStore = createInvitationStore({ db });
  const acceptances = createAcceptanceStore({ db });
  const submittedForms = createSubmittedForms({ db });
  // An invitation sends an e-mail. The limits per hour protect the recipients, and the reputation of the mail server.
  const windowSeconds = 3600;
  const invitations = createInvitations({
    ...shared,
    store: invitationStore,
    mailer,
    perFacility: createUsageLimit(
      createCounter,
      { name: 'invite', limit: 100, windowSeconds },
      (facilityId) => facilityId,
    ),
    perRecipient: createUsageLimit(createCounter, { name: 'invited', limit: 10, windowSeconds }, nameKey),
  });
  const tokens = createTokens({ ...shared, clients, facilities, submittedForms });

  const pages = createPortalPages({ ...shared, site, findSignedIn: sessions.current, members, facilityTabs });
  const secretPage = createSecretPage({ ...shared, pages, bookingsScope: options.scopes.bookings });
  const tokenPages = createTokenPages({ ...shared, pages, members, clients, submittedForms, tokens, secretPage });

  const router = Router();
  router.use(assetRoutes(portalAssets));
  router.use(
    acceptanceRoutes({
      ...shared,
      pages,
      site,
      sessions,
      accounts,
      store: invitationStore,
      acceptances,
      newPasswordLimit: options.newPasswordLimit,
    }),
  );
  router.use(homeRoutes({ ...shared, pages, members, showTokens: tokenPages.showTokens }));
  router.use(facilityRoutes({ ...shared, pages, members, store: invitationStore, invitations }));
  router.use(invitationRoutes({ ...shared, pages, store: invitationStore, invitations }));
  router.use(memberRoutes({ ...shared, pages, members, clients }));
  router.use(historyRoutes({ ...shared, pages, history: createHistoryStore({ db }), flushEvents: shared.audit.flush }));
  router.use(tokenPages.routes);
  router.use(tokenChangeRoutes({ ...shared, pages, clients, submittedForms, tokens, secretPage }));
  router.use(
    '/portal',
    (request: Request, response: Response, next: NextFunction) => {
      // The metrics use the route as a label. Without this line, each unknown path would become a label.
      response.locals.route = '/portal/{unknown}';
      pages.forSignedIn(pages.notFound)(request, response, next);
    },
    site.errorHandler,
  );
  return router;
}
