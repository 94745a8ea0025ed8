// Creates the pages that are not part of the portal: sign-in, registration, consent, social sign-in, device sign-in,
// password reset, confirmation of an e-mail address, and "Your account".
import type { Database } from '@bay-booking/service/database/database';
import { Router } from 'express';
import { accountRoutes } from './account/routes.ts';
import type { AccountServices } from './accounts/account-services.ts';
import type { ClientStore } from './clients/store.ts';
import type { FacilityStore } from './facilities/store.ts';
import { addressKey } from './guard/keys.ts';
import { createUsageLimit } from './guard/usage-limit.ts';
import { createUserCodeGuard } from './guard/user-code-guard.ts';
import { assetRoutes } from './html/asset.ts';
import { createCsrfTokens } from './html/csrf-tokens.ts';
import { assets } from './html/render.ts';
import { createSite } from './html/site.ts';
import type { SharedServices } from './http/shared-services.ts';
import { createDecideConsent } from './interaction/consent/consent.ts';
import { createConsentStore } from './interaction/consent/consent-store.ts';
import { createDeviceCookies } from './interaction/device/device-cookie.ts';
import { devicePages } from './interaction/device/device-pages.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { createBrowserSessions } from './interaction/sign-in/browser-session.ts';
import { directSignInRoutes } from './interaction/sign-in/direct-sign-in-routes.ts';
import { emailVerificationRoutes } from './interaction/sign-in/email-verification-routes.ts';
import { passwordResetRoutes } from './interaction/sign-in/password-reset-routes.ts';
import { createSessionStore } from './interaction/sign-in/session-store.ts';
import { createSignInPages } from './interaction/sign-in/sign-in-pages.ts';
import type { ConsentGrants } from './oidc/authorization/consent-grants.ts';
import type { FindDeviceRequest } from './oidc/authorization/device-sign-in.ts';
import type { Interactions } from './oidc/authorization/interactions.ts';
import type { BrowserCookies } from './oidc/cookies.ts';
import type { ScopeTable } from './oidc/scopes.ts';
import type { ProviderSessions } from './oidc/sessions.ts';
import { createSignInDestination } from './portal/sign-in-destination.ts';
import { isActive } from './portal/tokens/token-pages.ts';
import { createAuthorizationFlow } from './social/authorization-flow.ts';
import { createNativeTokenVerifier } from './social/native-token.ts';
import { createSocialRoutes } from './social/routes.ts';
import { createSocialProviders } from './social/settings.ts';
import { createSocialStore } from './social/store.ts';

export interface UserPagesOptions {
  readonly db: Database;
  /** The configuration, logger, metrics and audit log. Every module gets all of them, and uses those that it needs. */
  readonly shared: SharedServices;
  readonly cookies: BrowserCookies;
  readonly providerSessions: ProviderSessions;
  readonly interactions: Interactions;
  readonly findDeviceRequest: FindDeviceRequest;
  readonly grants: ConsentGrants;
  readonly accountServices: AccountServices;
  readonly clients: Pick<ClientStore, 'listPersonalAccessTokens' | 'findLongestAccessTokenTtl'>;
  readonly facilities: FacilityStore;
  readonly scopes: ScopeTable;
  /** Starts to send the queued logout tokens, and does not wait until they are sent. */
  readonly sendLogoutTokens: () => void;
}

export function createUserPages(options: UserPagesOptions) {
  const { db, shared, cookies, interactions, facilities, scopes, sendLogoutTokens } = options;
  const { config } = shared;
  const {
    accounts,
    socialIdentities,
    createCounter,
    signIn,
    resetFailures,
    links,
    emails,
    newPasswordLimit,
    findOrCreateSocialAccount,
  } = options.accountServices;
  // Each limit counts the requests of one IP address in one hour. It is high because many users can share an address.
  const windowSeconds = 3600;
  const registrationLimit = createUsageLimit(
    createCounter,
    { name: 'register', limit: 200, windowSeconds },
    addressKey,
  );
  const resetLinkLimit = createUsageLimit(createCounter, { name: 'reset', limit: 100, windowSeconds }, addressKey);

  const sessionStore = createSessionStore({ db, sendLogoutTokens });
  const { providerSessions } = options;
  const sessions = createBrowserSessions({
    ...shared,
    providerSessions,
    accounts,
    store: sessionStore,
    devices: createDeviceCookies({ ...shared, cookies, keys: config.cookieKeys }),
  });
  const csrfTokens = createCsrfTokens({ ...shared, cookies, keys: config.cookieKeys, origin: config.issuer });
  const site = createSite({ ...shared, findSignedIn: sessions.current, csrfTokens });
  const consents = createConsentStore({ db, sendLogoutTokens });
  const decide = createDecideConsent({ ...shared, grants: options.grants, store: consents });
  const providers = createSocialProviders(config.socialProviders);
  /** Returns the links to the social providers. The path of a link begins with `base` and ends with `query`. */
  const providerLinks = (base: string, query: string) =>
    [...providers.values()].map(({ name, title }) => ({ name, title, href: `${base}/social/${name}${query}` }));
  const signInPages = createSignInPages({
    ...shared,
    site,
    sessions,
    accounts,
    signIn,
    registrationLimit,
    sendVerification: emails.sendVerification,
  });

  const authorizationFlow = createAuthorizationFlow({ ...shared, providers, store: createSocialStore({ db }) });
  const social = createSocialRoutes({
    ...shared,
    cookies,
    interactions,
    providers,
    authorizationFlow,
    site,
    sessions,
    pages: signInPages,
    socialIdentities,
    findOrCreateSocialAccount,
    sendSocialLinked: emails.sendSocialLinked,
  });
  const { verifyNativeToken } = createNativeTokenVerifier({ ...shared, providers });

  const router = Router();
  router.use(assetRoutes(assets));
  // Some paths of `social.router` are below `/interaction`. The error handler of `interactionRoutes` also handles the
  // errors of these paths, so `interactionRoutes` must be mounted later.
  router.use(social.router);
  router.use(interactionRoutes({ ...shared, interactions, site, pages: signInPages, decide, scopes, providerLinks }));
  router.use(
    devicePages({
      ...shared,
      site,
      sessions,
      csrfTokens,
      guard: createUserCodeGuard(createCounter),
      findDeviceRequest: options.findDeviceRequest,
    }),
  );
  router.use(
    directSignInRoutes({
      ...shared,
      site,
      sessions,
      pages: signInPages,
      providerLinks,
      nameDestination: createSignInDestination({ db }),
    }),
  );
  router.use(
    passwordResetRoutes({
      ...shared,
      site,
      sessions,
      accounts,
      links,
      emails,
      linkLimit: resetLinkLimit,
      newPasswordLimit,
      signOutEverywhere: sessionStore.endEverything,
      resetFailures,
      findActiveTokenNames: async (accountId) =>
        (await options.clients.listPersonalAccessTokens(accountId)).filter(isActive).map(({ name }) => name),
    }),
  );
  router.use(
    emailVerificationRoutes({
      ...shared,
      site,
      accounts,
      emails,
      links,
      socialIdentities,
      providers,
      signOutEverywhere: sessionStore.endEverything,
    }),
  );
  router.use(
    accountRoutes({
      ...shared,
      site,
      accounts,
      socialIdentities,
      sessionStore,
      consents,
      facilities,
      providers,
      beginSocialSignIn: social.begin,
      browserSessions: sessions,
      signIn,
      emails,
      newPasswordLimit,
      scopes,
      clients: options.clients,
    }),
  );

  return {
    site,
    sessions,
    verifyNativeToken,
    isSocialProvider: (name: string): boolean => providers.has(name),
    routes: router,
  };
}
