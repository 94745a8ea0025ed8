// Creates the stores of accounts and facilities, their e-mails and the limits, and the services that pages share. Each
// page takes the services that it uses by name.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { createAccountEmails } from './accounts/account-emails.ts';
import { createConfirmationCodes } from './accounts/confirmation-code-store.ts';
import { createOneTimeLinks } from './accounts/one-time-link-store.ts';
import { createSignInAttempts, createSignInWithPassword } from './accounts/sign-in.ts';
import { createSocialIdentityStore } from './accounts/social-identity-store.ts';
import { createAccountStore } from './accounts/store.ts';
import type { Audit } from './audit/audit.ts';
import { createTokenStore } from './clients/personal-access-token-store.ts';
import type { AuthConfig } from './config.ts';
import { createPasskeys } from './factors/passkeys.ts';
import { createPendingSignIns } from './factors/pending-sign-in-store.ts';
import { createFactorStore } from './factors/store.ts';
import type { FailureCounterFactory } from './guard/failure-counter.ts';
import { addressKey, nameKey } from './guard/keys.ts';
import { createSignInGuard } from './guard/sign-in-guard.ts';
import { createUsageLimit } from './guard/usage-limit.ts';
import { createUserCodeGuard } from './guard/user-code-guard.ts';
import { createCsrfTokens } from './html/csrf-tokens.ts';
import { createSite } from './html/site.ts';
import type { BrowserCookies } from './http/browser-cookies.ts';
import { createConsentStore } from './interaction/consent/consent-store.ts';
import { createBrowserSessions } from './interaction/sign-in/browser-session.ts';
import { createDeviceCookies } from './interaction/sign-in/device-cookie.ts';
import { createSessionStore } from './interaction/sign-in/session-store.ts';
import { createStartSession } from './interaction/sign-in/start-session.ts';
import type { ConsentGrants } from './oidc/authorization/consent-grants.ts';
import type { FindDeviceRequest } from './oidc/authorization/device-sign-in.ts';
import type { Interactions } from './oidc/authorization/interactions.ts';
import type { ScopeTable } from './oidc/scopes.ts';
import type { ProviderSessions } from './oidc/sessions.ts';
import { createMailer } from './outbox/mailer.ts';
import type { Outbox } from './outbox/outbox.ts';
import { createFacilityEmails } from './portal/facility-emails.ts';
import { createAcceptanceStore } from './portal/invitations/acceptance-store.ts';
import { createInvitationStore } from './portal/invitations/invitation-store.ts';
import { createInvitations } from './portal/invitations/invitations.ts';
import { createMemberStore } from './portal/members/member-store.ts';
import { createSubmittedForms } from './portal/tokens/submitted-form-store.ts';
import type { SocialProviders } from './social/settings.ts';

export type Services = ReturnType<typeof createServices>;

export function createServices(options: {
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly db: Database;
  readonly audit: Audit;
  readonly outbox: Outbox;
  readonly createCounter: FailureCounterFactory;
}) {
  const { config, logger, db, audit, outbox, createCounter } = options;
  const sendLogoutTokens = outbox.wake;
  const accounts = createAccountStore({ db });
  const factors = createFactorStore({ db, encryptionKeys: config.encryptionKeys });
  const links = createOneTimeLinks({ db, keys: config.encryptionKeys });
  const invitationStore = createInvitationStore({ db });
  const perHour = { windowSeconds: 3600 };
  const guard = createSignInGuard(createCounter, config.lockout);
  const mailer = createMailer(config, db, logger, outbox);
  const emails = createAccountEmails({
    config,
    links,
    accounts,
    audit,
    logger,
    mailer,
    // A recipient who has reached the first limit gets the previous link again.
    recipientLimit: createUsageLimit(createCounter, { name: 'mail', limit: 5, ...perHour }, nameKey),
    repeatLimit: createUsageLimit(createCounter, { name: 'mail-again', limit: 1, windowSeconds: 300 }, nameKey),
  });
  const wrongFactors = createCounter({ name: 'wrong-factor', limit: 5, windowSeconds: 24 * 3600 });
  return {
    accounts,
    factors,
    links,
    mailer,
    emails,
    invitationStore,
    socialIdentities: createSocialIdentityStore({ db, audit }),
    pendingSignIns: createPendingSignIns({ db }),
    passkeys: createPasskeys(config, factors),
    tokenStore: createTokenStore({ db, audit, accessTokenTtl: config.accessTokenTtl }),
    members: createMemberStore({ db, issuer: config.issuer, mailer, sendLogoutTokens }),
    sessionStore: createSessionStore({ db, sendLogoutTokens }),
    consents: createConsentStore({ db, sendLogoutTokens }),
    acceptances: createAcceptanceStore({ db }),
    submittedForms: createSubmittedForms({ db }),
    confirmationCodes: createConfirmationCodes({
      db,
      config,
      mailer,
      limit: createUsageLimit(createCounter, { name: 'confirmation-code', limit: 5, ...perHour }),
    }),
    userCodeGuard: createUserCodeGuard(createCounter),
    signIn: createSignInWithPassword(accounts, audit, factors, guard),
    attempts: createSignInAttempts(factors, guard, wrongFactors, emails),
    /** Limits the new passwords for an account or invitation, because estimating their strength takes much CPU time. */
    newPasswordLimit: createUsageLimit(createCounter, { name: 'new-password', limit: 30, ...perHour }),
    // Each of these two limits counts the requests of one IP address. It is high because many users can share one.
    registrationLimit: createUsageLimit(createCounter, { name: 'register', limit: 200, ...perHour }, addressKey),
    resetLinkLimit: createUsageLimit(createCounter, { name: 'reset', limit: 100, ...perHour }, addressKey),
    invitations: createInvitations({
      config,
      invitationStore,
      audit,
      logger,
      mailer,
      // An invitation sends an e-mail. The limits protect the recipients, and the reputation of the mail server.
      perFacility: createUsageLimit(createCounter, { name: 'invite', limit: 100, ...perHour }),
      perRecipient: createUsageLimit(createCounter, { name: 'invited', limit: 10, ...perHour }, nameKey),
    }),
    facilityEmails: createFacilityEmails({
      config,
      db,
      logger,
      mailer,
      limit: createUsageLimit(createCounter, { name: 'facility-mail', limit: 100, ...perHour }),
      factorLimit: createUsageLimit(createCounter, { name: 'factor-mail', limit: 3, windowSeconds: 86_400 }),
    }),
  };
}

export interface PageDependencies {
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
}

export type PageServices = ReturnType<typeof createPageServices>;

export function createPageServices(options: PageDependencies) {
  const { config, cookies, providerSessions, services } = options;
  const sessions = createBrowserSessions({ ...services, providerSessions });
  const devices = createDeviceCookies(cookies, config);
  const csrfTokens = createCsrfTokens(cookies, config);
  const site = createSite({ findSignedIn: sessions.current, csrfTokens });
  const all = { ...options, ...services, sessions, devices, csrfTokens, site };
  return { ...all, ...createStartSession(all) };
}
