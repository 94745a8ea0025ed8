// Creates the pages outside of oidc-provider: sign-in, consent, devices, "Your account" and the portal.
import type { Database } from '@bay-booking/service/database/database';
import { Router } from 'express';
import { accountRoutes } from '../account/routes.ts';
import { securityRoutes } from '../account/security-pages.ts';
import type { Audit } from '../audit/audit.ts';
import type { AuthConfig } from '../config.ts';
import type { FailureCounterFactory } from '../guard/failure-counter.ts';
import { createUserCodeGuard } from '../guard/user-code-guard.ts';
import { assetRoutes } from '../html/asset.ts';
import { createCsrfTokens } from '../html/csrf-tokens.ts';
import { createSite } from '../html/site.ts';
import { devicePages } from '../interaction/device/device-pages.ts';
import { createProviderPages } from '../interaction/provider-pages.ts';
import { interactionRoutes } from '../interaction/routes.ts';
import { secondFactorRoutes } from '../interaction/second-factor-pages.ts';
import { createBrowserSessions } from '../interaction/sign-in/browser-session.ts';
import { createDeviceCookies } from '../interaction/sign-in/device-cookie.ts';
import { directSignInRoutes } from '../interaction/sign-in/direct-sign-in-routes.ts';
import { emailVerificationRoutes } from '../interaction/sign-in/email-verification-routes.ts';
import { passwordResetRoutes } from '../interaction/sign-in/password-reset-routes.ts';
import { createSignInPages } from '../interaction/sign-in/sign-in-pages.ts';
import { createSocialRoutes } from '../interaction/sign-in/social-routes.ts';
import { createStartSession } from '../interaction/sign-in/start-session.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { createPortal } from '../portal/portal.ts';
import { createSignInDestination } from '../portal/sign-in-destination.ts';
import { createAuthorizationFlow } from '../social/authorization-flow.ts';
import { createSocialProviders } from '../social/settings.ts';
import type { composeAccounts } from './accounts.ts';
import type { composeProvider } from './provider.ts';

export interface PageComposition {
  readonly config: AuthConfig;
  readonly db: Database;
  readonly audit: Audit;
  readonly outbox: Outbox;
  readonly createCounter: FailureCounterFactory;
  readonly accounts: ReturnType<typeof composeAccounts>;
  readonly protocol: ReturnType<typeof composeProvider>;
}

export function composePages({ config, db, audit, outbox, createCounter, accounts, protocol }: PageComposition) {
  const { cookies, interactions, providerSessions, grants, scopes, findDeviceRequest } = protocol;
  const { factors, pendingSignIns } = accounts;
  const providers = createSocialProviders(config.socialProviders);
  const sessions = createBrowserSessions(accounts, providerSessions);
  const devices = createDeviceCookies(cookies, config);
  const csrfTokens = createCsrfTokens(cookies, config);
  const site = createSite({ findSignedIn: sessions.current, csrfTokens, cookies });
  const doors = createStartSession({
    db,
    audit,
    factors,
    pendingSignIns,
    providerSessions,
    sessions,
    devices,
    cookies,
    interactions,
  });
  const browser = { site, sessions, devices, cookies, audit };
  const authorizationFlow = createAuthorizationFlow({ config, db }, providers);
  const signInPages = createSignInPages({ ...accounts, ...browser, ...doors });
  const social = createSocialRoutes({
    ...accounts,
    ...browser,
    ...doors,
    interactions,
    providers,
    authorizationFlow,
  });

  const router = Router();
  router.use(assetRoutes());
  router.use(social.router);
  router.use(
    interactionRoutes({ ...accounts, ...browser, ...doors, interactions, grants, scopes, providers }, signInPages),
  );
  const userCodeGuard = createUserCodeGuard(createCounter);
  router.use(devicePages({ site, sessions, csrfTokens, userCodeGuard, findDeviceRequest, audit }));
  router.use(secondFactorRoutes({ ...accounts, ...browser, ...doors }));
  router.use(
    directSignInRoutes({ ...accounts, ...browser, providers }, signInPages, createSignInDestination(accounts)),
  );
  router.use(passwordResetRoutes({ ...accounts, ...browser, ...doors }));
  router.use(emailVerificationRoutes({ ...accounts, ...browser, providers }));
  router.use(accountRoutes({ ...accounts, ...browser, db, outbox, providers, scopes }, social));
  router.use(securityRoutes({ ...accounts, ...browser, ...doors, config }));
  router.use(createPortal({ ...accounts, ...browser, ...doors, config, db, scopes }));
  router.use(site.errorHandler);
  return { router, providers, providerPages: createProviderPages(site.findLayoutUser) };
}
