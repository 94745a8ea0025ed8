// Assembles the routes of the portal, where owners and staff manage the members of their facility, and service accounts
// manage their personal access tokens (specification, "Bookings API access"; docs/portal.md).
import type { Database } from '@bay-booking/service/database/database';
import { Router } from 'express';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import type { TokenStore } from '../clients/personal-access-token-store.ts';
import type { AuthConfig } from '../config.ts';
import type { FactorStore } from '../factors/store.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import type { Site } from '../html/site.ts';
import type { BrowserSessions } from '../interaction/sign-in/browser-session.ts';
import type { NameDestination } from '../interaction/sign-in/direct-sign-in-routes.ts';
import type { StartSession } from '../interaction/sign-in/start-session.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import { facilityRoutes } from './facility/facility-pages.ts';
import { historyRoutes } from './facility/history-pages.ts';
import type { FacilityEmails } from './facility-emails.ts';
import { homeRoutes } from './home-pages.ts';
import { acceptanceRoutes } from './invitations/acceptance-pages.ts';
import type { AcceptanceStore } from './invitations/acceptance-store.ts';
import { invitationRoutes } from './invitations/invitation-pages.ts';
import type { InvitationStore } from './invitations/invitation-store.ts';
import type { Invitations } from './invitations/invitations.ts';
import { memberRoutes } from './members/member-pages.ts';
import type { MemberStore } from './members/member-store.ts';
import { createPortalPages, facilityPath } from './page.ts';
import { facilityTokenRoutes } from './tokens/facility-token-pages.ts';
import { createSecretPage } from './tokens/secret-page.ts';
import type { SubmittedForms } from './tokens/submitted-form-store.ts';
import { tokenChangeRoutes } from './tokens/token-change-pages.ts';
import { createTokenPages } from './tokens/token-pages.ts';

export function createPortal(options: {
  readonly config: AuthConfig;
  readonly db: Database;
  readonly audit: Audit;
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly startSession: StartSession['startSession'];
  readonly scopes: ScopeTable;
  readonly accounts: AccountStore;
  readonly tokenStore: TokenStore;
  readonly factors: FactorStore;
  readonly members: MemberStore;
  readonly acceptances: AcceptanceStore;
  readonly invitationStore: InvitationStore;
  readonly invitations: Invitations;
  readonly submittedForms: SubmittedForms;
  readonly facilityEmails: FacilityEmails;
  readonly newPasswordLimit: UsageLimit;
}): Router {
  const { config, db, audit, site, sessions, startSession, scopes, accounts, tokenStore, factors, members } = options;
  const { acceptances, invitationStore, invitations, submittedForms, facilityEmails, newPasswordLimit } = options;
  const pages = createPortalPages({ config, site, members, factors });
  const secretPage = createSecretPage({ config, scopes, site, pages });
  const { showTokens, routes } = createTokenPages({
    members,
    tokenStore,
    submittedForms,
    facilityEmails,
    pages,
    secretPage,
  });

  const router = Router();
  router.use(
    acceptanceRoutes({
      site,
      sessions,
      accounts,
      invitationStore,
      acceptances,
      audit,
      facilityEmails,
      newPasswordLimit,
      startSession,
      pages,
    }),
  );
  router.use(homeRoutes({ members, site, pages, showTokens }));
  router.use(facilityRoutes({ audit, members, facilityEmails, invitationStore, invitations, pages }));
  router.use(invitationRoutes({ invitationStore, invitations, site, pages }));
  router.use(memberRoutes({ members, factors, audit, facilityEmails, site, pages }));
  router.use(facilityTokenRoutes({ db, audit, facilityEmails, pages }));
  router.use(historyRoutes({ db, audit, pages }));
  router.use(routes);
  router.use(tokenChangeRoutes({ tokenStore, members, submittedForms, site, facilityEmails, pages, secretPage }));
  router.use(
    '/portal',
    (_request, response, next) => {
      // The metrics use the route as a label. Without this line, each unknown path would become a label.
      response.locals.route = '/portal/{unknown}';
      next();
    },
    site.forSignedIn((_request, response) => pages.notFound(response)),
  );
  return router;
}

/** Finds the name of the facility or page that a user opens by signing in, for the sign-in page. */
// Only members of a facility, and users with the link of an invitation, see the name of the facility.
export const createSignInDestination =
  ({ invitationStore, members }: { invitationStore: InvitationStore; members: MemberStore }): NameDestination =>
  async (path, signedIn) => {
    const { pathname, searchParams } = new URL(path, 'http://local.invalid');
    if (pathname !== '/portal' && !pathname.startsWith('/portal/')) return undefined;
    if (pathname === '/portal/invitation') {
      const invitation = await invitationStore.findByToken(searchParams.get('token') ?? '');
      if (invitation) return invitation.facilityName;
    }
    const facilities = signedIn ? await members.findFacilities(signedIn.account.id) : [];
    const facility = facilities.find(({ id }) => `${pathname}/`.startsWith(`${facilityPath(id)}/`));
    return facility?.name ?? 'the portal';
  };
