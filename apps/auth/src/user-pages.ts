// Creates every page that users see outside the portal: sign-in, registration, consent, social sign-in, recovery and "your account".
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { type RequestHandler, Router } from 'express';
import type { Provider } from 'oidc-provider';
import { accountRoutes } from './account/routes.ts';
import type { AccountServices } from './accounts/account-services.ts';
import type { Audit } from './audit/audit.ts';
import type { AuthConfig } from './config.ts';
import type { FacilityStore } from './facilities/store.ts';
import { addressKey } from './guard/keys.ts';
import { createUsageLimit } from './guard/usage-limit.ts';
import { assetRoutes } from './html/asset.ts';
import { createFormTokens } from './html/form-token.ts';
import { assets } from './html/render.ts';
import { createSite } from './html/site.ts';
import { createBrowserSessions } from './interaction/browser-session.ts';
import { createConsent } from './interaction/consent.ts';
import { createConsentStore } from './interaction/consent-store.ts';
import { ownRoutes } from './interaction/own-routes.ts';
import { createInteractionPolicy } from './interaction/policy.ts';
import { recoveryRoutes } from './interaction/recovery-routes.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { createSessionStore } from './interaction/session-store.ts';
import { createSignInPages } from './interaction/sign-in-pages.ts';
import { idpParameter } from './oidc/authorization-request.ts';
import type { ScopeTable } from './oidc/scopes.ts';
import type { ArtifactStore } from './oidc/storage/adapter.ts';
import { createAuthorizationFlow } from './social/authorization-flow.ts';
import { connectProviders } from './social/connections.ts';
import { createNativeTokenVerifier } from './social/native-token.ts';
import { createSocialRoutes } from './social/routes.ts';
import { createSocialStore } from './social/store.ts';

export interface UserPagesOptions {
  readonly db: Database;
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly audit: Audit;
  readonly provider: () => Provider;
  readonly accountServices: AccountServices;
  readonly artifacts: ArtifactStore;
  readonly facilities: FacilityStore;
  readonly scopes: ScopeTable;
}

export function createUserPages(options: UserPagesOptions) {
  const { db, config, logger, audit, provider, artifacts, facilities, scopes } = options;
  const { accounts, count, signIn, resetFailures, links, emails } = options.accountServices;
  const window = 3600;
  const registrations = createUsageLimit(count, { name: 'register', limit: 200, window }, addressKey);
  const resets = createUsageLimit(count, { name: 'reset', limit: 100, window }, addressKey);

  const sessionStore = createSessionStore({ db });
  const sessions = createBrowserSessions({
    provider,
    accounts,
    store: sessionStore,
    revokeGrant: artifacts.revokeGrant,
  });
  const tokens = createFormTokens({ provider, keys: config.cookieKeys, origin: config.issuer });
  const site = createSite({ sessions, tokens });
  const consents = createConsentStore({ db });
  const consent = createConsent({ provider, consents, scopes, audience: config.bookingsAudience });
  const providers = config.socialProviders;
  const connect = connectProviders(providers);
  const providerLinks = (base: string, query: string) =>
    [...providers.values()].map(({ name, title }) => ({ name, title, href: `${base}/social/${name}${query}` }));
  const pages = createSignInPages({
    site,
    sessions,
    accounts,
    signIn,
    registrations,
    sendVerification: emails.sendVerification,
    audit,
  });

  const authorizationFlow = createAuthorizationFlow({
    connect,
    store: createSocialStore({ db }),
    issuer: config.issuer,
  });
  const social = createSocialRoutes({
    provider,
    providers,
    authorizationFlow,
    site,
    sessions,
    pages,
    accounts,
    audit,
  });
  const { verifyNativeToken } = createNativeTokenVerifier({ providers, connect, logger });

  const router = Router();
  router.use(assetRoutes(assets));
  router.use(social.router);
  router.use(
    interactionRoutes({ provider, site, pages, decide: consent.decide, scopes, idpParameter, providerLinks, audit }),
  );
  router.use(ownRoutes({ site, sessions, pages, providerLinks, audit }));
  router.use(
    recoveryRoutes({
      site,
      accounts,
      links,
      mail: emails,
      resets,
      signOutEverywhere: sessionStore.endEverything,
      resetFailures,
      audit,
    }),
  );
  router.use(
    accountRoutes({
      site,
      accounts,
      sessions: sessionStore,
      consents,
      facilities,
      providers,
      beginSocialSignIn: social.begin,
      signIn,
      mail: emails,
      scopes,
      audit,
    }),
  );

  return {
    site,
    sessions,
    verifyNativeToken,
    isSocialProvider: (name: string): boolean => providers.has(name),
    policy: createInteractionPolicy(idpParameter),
    loadExistingGrant: consent.load,
    routes: router as RequestHandler,
  };
}
