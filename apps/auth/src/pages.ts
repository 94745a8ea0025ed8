// Creates the pages outside of oidc-provider: sign-in, consent, devices, "Your account" and the portal.
import type { Database } from '@bay-booking/service/database/database';
import { Router } from 'express';
import { createPasswordChange } from './account-pages/change-password.ts';
import { accountDataRoutes } from './account-pages/data-routes.ts';
import { createAccountPage } from './account-pages/page.ts';
import { accountRoutes } from './account-pages/routes.ts';
import { securityRoutes } from './account-pages/security-pages.ts';
import type { Audit } from './audit/audit.ts';
import type { AuthConfig } from './config.ts';
import { assetRoutes } from './html/asset.ts';
import { createCsrfTokens } from './html/csrf-tokens.ts';
import { createSite } from './html/site.ts';
import type { BrowserCookies } from './http/browser-cookies.ts';
import { createConsentPage } from './interaction/consent/consent-page.ts';
import { devicePages } from './interaction/device/device-pages.ts';
import { createProviderPages } from './interaction/provider-pages.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { secondFactorRoutes } from './interaction/second-factor-pages.ts';
import { createBrowserSessions } from './interaction/sign-in/browser-session.ts';
import { createDeviceCookies } from './interaction/sign-in/device-cookie.ts';
import { directSignInRoutes } from './interaction/sign-in/direct-sign-in-routes.ts';
import { emailVerificationRoutes } from './interaction/sign-in/email-verification-routes.ts';
import { passwordResetRoutes } from './interaction/sign-in/password-reset-routes.ts';
import { createSignInPages } from './interaction/sign-in/sign-in-pages.ts';
import { createSocialRoutes } from './interaction/sign-in/social-routes.ts';
import { createStartSession } from './interaction/sign-in/start-session.ts';
import type { ConsentGrants } from './oidc/authorization/consent-grants.ts';
import type { FindDeviceRequest } from './oidc/authorization/device-sign-in.ts';
import type { Interactions } from './oidc/authorization/interactions.ts';
import type { ScopeTable } from './oidc/scopes.ts';
import type { ProviderSessions } from './oidc/sessions.ts';
import type { Outbox } from './outbox/outbox.ts';
import { createPortal, createSignInDestination } from './portal/portal.ts';
import type { Services } from './services.ts';
import { createAuthorizationFlow } from './social/authorization-flow.ts';
import type { SocialProviders } from './social/settings.ts';

export function createPages(options: {
  readonly config: AuthConfig;
  readonly db: Database;
  readonly audit: Audit;
  readonly outbox: Outbox;
  readonly scopes: ScopeTable;
  readonly providers: SocialProviders;
  readonly cookies: BrowserCookies;
  readonly interactions: Interactions;
  readonly providerSessions: ProviderSessions;
  readonly grants: ConsentGrants;
  readonly findDeviceRequest: FindDeviceRequest;
  readonly services: Services;
}) {
  const { config, db, audit, outbox, scopes, providers, cookies, interactions, providerSessions } = options;
  const { grants, findDeviceRequest, services } = options;
  const { accounts, acceptances, attempts, confirmationCodes, consents, emails, facilityEmails, factors } = services;
  const { invitations, invitationStore, links, members, newPasswordLimit, passkeys, pendingSignIns } = services;
  const { registrationLimit, resetLinkLimit, sessionStore, signIn, socialIdentities, submittedForms } = services;
  const { tokenStore, userCodeGuard } = services;

  const sessions = createBrowserSessions({ accounts, sessionStore, providerSessions });
  const devices = createDeviceCookies(cookies, config);
  const csrfTokens = createCsrfTokens(cookies, config);
  const site = createSite({ findSignedIn: sessions.current, csrfTokens, cookies });
  const { startSession, askForMissingFactor, addFactorToSession } = createStartSession({
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
  const signInPages = createSignInPages({
    site,
    startSession,
    devices,
    accounts,
    signIn,
    confirmationCodes,
    registrationLimit,
    emails,
    audit,
    passkeys,
    attempts,
    factors,
  });
  const consentPage = createConsentPage({ site, grants, consents, scopes, audit });
  const social = createSocialRoutes({
    cookies,
    interactions,
    providers,
    authorizationFlow: createAuthorizationFlow({ config, db }, providers),
    site,
    sessions,
    socialIdentities,
    audit,
    emails,
    factors,
    startSession,
  });
  const show = createAccountPage({
    site,
    factors,
    socialIdentities,
    sessionStore,
    consents,
    members,
    providers,
    scopes,
  });
  const changePassword = createPasswordChange({
    show,
    accounts,
    factors,
    sessionStore,
    devices,
    signIn,
    emails,
    newPasswordLimit,
    audit,
  });

  const router = Router().use(
    assetRoutes(),
    social.router,
    interactionRoutes({
      interactions,
      site,
      providers,
      sessions,
      factors,
      consentPage,
      signInPages,
      askForMissingFactor,
    }),
    devicePages({ site, sessions, csrfTokens, userCodeGuard, findDeviceRequest, audit }),
    secondFactorRoutes({
      site,
      accounts,
      factors,
      pendingSignIns,
      cookies,
      devices,
      sessions,
      audit,
      passkeys,
      attempts,
      emails,
      startSession,
      askForMissingFactor,
    }),
    directSignInRoutes({
      site,
      sessions,
      providers,
      passkeys,
      socialIdentities,
      audit,
      signInPages,
      nameDestination: createSignInDestination({ invitationStore, members }),
    }),
    passwordResetRoutes({
      site,
      accounts,
      links,
      emails,
      sessionStore,
      tokenStore,
      audit,
      resetLinkLimit,
      newPasswordLimit,
      attempts,
      startSession,
    }),
    emailVerificationRoutes({
      site,
      accounts,
      emails,
      links,
      factors,
      socialIdentities,
      providers,
      sessionStore,
      audit,
    }),
    accountRoutes({
      site,
      accounts,
      socialIdentities,
      sessionStore,
      consents,
      emails,
      audit,
      show,
      changePassword,
      beginSocial: social.begin,
    }),
    accountDataRoutes({ site, sessions, audit, db, outbox, facilityEmails }),
    securityRoutes({
      site,
      factors,
      emails,
      audit,
      config,
      cookies,
      confirmationCodes,
      sessionStore,
      passkeys,
      addFactorToSession,
    }),
    createPortal({
      config,
      db,
      audit,
      site,
      sessions,
      startSession,
      scopes,
      accounts,
      tokenStore,
      factors,
      members,
      acceptances,
      invitationStore,
      invitations,
      submittedForms,
      facilityEmails,
      newPasswordLimit,
    }),
    site.errorHandler,
  );
  return { router, providerPages: createProviderPages(site.findLayoutUser) };
}
