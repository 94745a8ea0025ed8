// Composition of the portal: its stores, its rules and every page under /portal, behind the sign-in, frame and form tokens of all our
// pages. Specification, "Bookings API access"; contract section 5.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { type NextFunction, type Request, type Response, Router } from 'express';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { ClientStore } from '../clients/store.ts';
import type { AuthConfig } from '../config.ts';
import type { FacilityStore } from '../facilities/store.ts';
import type { CreateFailureCounter } from '../guard/failure-counter.ts';
import { nameKey } from '../guard/keys.ts';
import { createUsageLimit } from '../guard/usage-limit.ts';
import { assetRoutes } from '../html/asset.ts';
import type { Site } from '../html/site.ts';
import type { BrowserSessions } from '../interaction/browser-session.ts';
import type { OutboxMailer } from '../mail/outbox-mailer.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import { createAcceptanceStore } from './acceptance-store.ts';
import { portalAssets } from './assets.ts';
import { facilityRoutes } from './facility-pages.ts';
import { historyRoutes } from './history.ts';
import { createHistoryStore } from './history-store.ts';
import { homeRoutes } from './home-pages.ts';
import { invitationRoutes } from './invitation-pages.ts';
import { createInvitationStore } from './invitation-store.ts';
import { createInvitations } from './invitations.ts';
import { joinRoutes } from './join-pages.ts';
import { memberRoutes } from './member-pages.ts';
import { createPeopleStore } from './member-store.ts';
import { createPortalPages } from './page.ts';
import { createSecretPage } from './secret-page.ts';
import { tokenChangeRoutes } from './token-change-pages.ts';
import { createTokenPages } from './token-pages.ts';
import { createTokens } from './tokens.ts';
import { createUsedForms } from './used-form-store.ts';

export interface PortalOptions {
  readonly db: Database;
  readonly config: Pick<AuthConfig, 'issuer' | 'bookingsAudience' | 'accessTokenTtl'>;
  readonly scopes: Pick<ScopeTable, 'bookings'>;
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly accounts: AccountStore;
  readonly clients: ClientStore;
  readonly facilities: FacilityStore;
  readonly mailer: OutboxMailer;
  readonly count: CreateFailureCounter;
  readonly audit: Audit;
  readonly logger: Logger;
}

export function createPortal(options: PortalOptions): Router {
  const { db, site, sessions, accounts, clients, facilities, mailer, count, audit, logger } = options;
  const { issuer, bookingsAudience, accessTokenTtl } = options.config;
  const people = createPeopleStore({ db });
  const store = createInvitationStore({ db });
  const usedForms = createUsedForms({ db });
  const invitations = createInvitations({
    store,
    mailer,
    issuer,
    perFacility: createUsageLimit(count, { name: 'invite', limit: 100, window: 3600 }, (facility) => facility),
    perRecipient: createUsageLimit(count, { name: 'invited', limit: 10, window: 3600 }, nameKey),
    audit,
    logger,
  });
  const tokens = createTokens({ clients, facilities, usedForms, audit });

  const pages = createPortalPages({ site, sessions, people });
  const showSecret = createSecretPage({
    pages,
    issuer,
    bookingsScope: options.scopes.bookings,
    bookingsApi: bookingsAudience,
    accessTokenTtl,
  });
  const tokenPages = createTokenPages({ pages, people, clients, usedForms, tokens, showSecret, accessTokenTtl });

  const router = Router();
  router.use(assetRoutes(portalAssets));
  router.use(joinRoutes({ pages, site, sessions, accounts, store, acceptances: createAcceptanceStore({ db }), audit }));
  router.use(homeRoutes({ pages, people, showTokens: tokenPages.showTokens }));
  router.use(facilityRoutes({ pages, people, store, invitations }));
  router.use(invitationRoutes({ pages, store, invitations }));
  router.use(memberRoutes({ pages, people, accessTokenTtl, audit }));
  router.use(historyRoutes({ pages, history: createHistoryStore({ db }), written: audit.flush }));
  router.use(tokenPages.routes);
  router.use(tokenChangeRoutes({ pages, clients, usedForms, tokens, showSecret, accessTokenTtl }));
  router.use(
    '/portal',
    (request: Request, response: Response, next: NextFunction) => {
      response.locals.route = '/portal/{unknown}';
      pages.forSignedIn(pages.notFound)(request, response, next);
    },
    site.showFailure,
  );
  return router;
}
