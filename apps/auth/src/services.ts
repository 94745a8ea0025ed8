// Creates every store and service of auth once. Pages and the configuration of oidc-provider take `Services`, and name
// those that they use.
import { collectDatabaseMetrics, connectDatabase, logOutages } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { createOutboundClient } from '@bay-booking/service/outbound/client';
import { createAccountEmails } from './accounts/account-emails.ts';
import { createConfirmationCodes } from './accounts/confirmation-code-store.ts';
import { createOneTimeLinks } from './accounts/one-time-link-store.ts';
import { createSignIn } from './accounts/sign-in.ts';
import { createSocialIdentityStore, type SocialIdentity } from './accounts/social-identity-store.ts';
import { type Account, createAccountStore } from './accounts/store.ts';
import { createAudit } from './audit/audit.ts';
import { createClientStore } from './clients/store.ts';
import type { AuthConfig } from './config.ts';
import { createPasskeys } from './factors/passkeys.ts';
import { createPendingSignIns } from './factors/pending-sign-in-store.ts';
import { createFactorStore } from './factors/store.ts';
import { createFailureCounterFactory } from './guard/failure-counter.ts';
import { addressKey, nameKey } from './guard/keys.ts';
import { createPushedRequestLimit } from './guard/pushed-request-limit.ts';
import { createSignInGuard } from './guard/sign-in-guard.ts';
import { createUsageLimit } from './guard/usage-limit.ts';
import { createUserCodeGuard } from './guard/user-code-guard.ts';
import { createCsrfTokens } from './html/csrf-tokens.ts';
import { createSite } from './html/site.ts';
import { createRateLimit } from './http/rate-limit.ts';
import { createConsentStore } from './interaction/consent/consent-store.ts';
import { createProviderPages } from './interaction/provider-pages.ts';
import { createBrowserSessions } from './interaction/sign-in/browser-session.ts';
import { createDeviceCookies } from './interaction/sign-in/device-cookie.ts';
import { createSessionStore } from './interaction/sign-in/session-store.ts';
import { createStartSession } from './interaction/sign-in/start-session.ts';
import { countEvents } from './metrics.ts';
import { migrationsDirectory } from './migrations-directory.ts';
import { createConsentGrants } from './oidc/authorization/consent-grants.ts';
import { createDeviceSignIn } from './oidc/authorization/device-sign-in.ts';
import { createInteractions } from './oidc/authorization/interactions.ts';
import { createBrowserCookies } from './oidc/cookies.ts';
import type { ProviderManager } from './oidc/provider-manager.ts';
import { createScopeTable } from './oidc/scopes.ts';
import { createProviderSessions } from './oidc/sessions.ts';
import { createArtifactStore } from './oidc/storage/artifacts.ts';
import { createDeviceCodes } from './oidc/storage/device-codes.ts';
import { createEndSession } from './oidc/storage/ended-sessions.ts';
import { createProofVerifier, nonceSecretOf } from './oidc/tokens/dpop.ts';
import { createSendLogoutToken } from './oidc/tokens/logout-tokens.ts';
import { createReplayDetection } from './oidc/tokens/replay-detection.ts';
import { createResourceServer } from './oidc/tokens/resource-server.ts';
import { createTokenLifetimes } from './oidc/tokens/token-lifetimes.ts';
import { createLogoutTokenSender } from './outbox/logout-tokens.ts';
import { createMailer, createMailSender } from './outbox/mailer.ts';
import { createOutbox } from './outbox/outbox.ts';
import { createFacilityEmails } from './portal/facility-emails.ts';
import { createAcceptanceStore } from './portal/invitations/acceptance-store.ts';
import { createInvitationStore } from './portal/invitations/invitation-store.ts';
import { createInvitations } from './portal/invitations/invitations.ts';
import { createMemberStore } from './portal/members/member-store.ts';
import { createSubmittedForms } from './portal/tokens/submitted-form-store.ts';
import { createRevocationStore } from './revocations/store.ts';
import { createAuthorizationFlow } from './social/authorization-flow.ts';
import { createSocialProviders } from './social/settings.ts';

export interface AppDependencies {
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What most services are built on. */
export type Stores = ReturnType<typeof createStores>;
export type Services = ReturnType<typeof createServices>['services'];

function createStores({ config, logger, metrics }: AppDependencies, sendLogoutTokens: () => void) {
  const db = connectDatabase({
    url: config.databaseUrl,
    applicationName: 'auth',
    poolMax: config.databasePoolMax,
    migrationsDirectory,
  });
  collectDatabaseMetrics(metrics, db);
  logOutages(db, logger);
  const audit = countEvents(createAudit({ db, logger }), metrics);
  return {
    config,
    logger,
    metrics,
    db,
    audit,
    accounts: createAccountStore({ db }),
    socialIdentities: createSocialIdentityStore({ db }),
    links: createOneTimeLinks({ db, key: config.encryptionKey }),
    factors: createFactorStore({ db, encryptionKeys: config.encryptionKeys }),
    pendingSignIns: createPendingSignIns({ db }),
    clients: createClientStore({ db, audit, accessTokenTtl: config.accessTokenTtl }),
    members: createMemberStore({ db }),
    sessionStore: createSessionStore({ db, sendLogoutTokens }),
    consents: createConsentStore({ db, sendLogoutTokens }),
    invitationStore: createInvitationStore({ db }),
    acceptances: createAcceptanceStore({ db }),
    submittedForms: createSubmittedForms({ db }),
    revocations: createRevocationStore({ db }),
  };
}

/**
 * The provider needs the services, so they get the manager of the provider later. Only the ways to sign in get
 * `startSession` (interaction/sign-in/start-session.ts).
 */
export function createServices(dependencies: AppDependencies, manager: () => ProviderManager | undefined) {
  const provider = () => (manager() as ProviderManager).provider();
  const sendLogoutTokens = (): void => outbox.wake();
  const stores = createStores(dependencies, sendLogoutTokens);
  const { config, db, audit, logger, metrics, accounts, factors, socialIdentities } = stores;
  // The first check may come before the manager has tried to load the keys.
  const isReady = (): boolean => manager()?.isReady() === true;
  const mailSender = createMailSender(config, logger);
  const logoutTokenSender = createLogoutTokenSender(audit, createSendLogoutToken(provider), isReady);
  const senders = { mail: mailSender.sender, 'logout-token': logoutTokenSender };
  const outbox = createOutbox({ db, logger, metrics, senders });

  const createCounter = createFailureCounterFactory(db);
  const perHour = { windowSeconds: 3600 };
  const guard = createSignInGuard(createCounter, config.lockout);
  const mailer = createMailer(config, db, logger, outbox);
  const wrongFactors = createCounter({ name: 'wrong-factor', limit: 5, windowSeconds: 24 * 3600 });
  const accountServices = {
    mailer,
    emails: createAccountEmails(stores, {
      mailer,
      // A recipient who has reached the first limit gets the previous link again.
      recipientLimit: createUsageLimit(createCounter, { name: 'mail', limit: 5, ...perHour }, nameKey),
      repeatLimit: createUsageLimit(createCounter, { name: 'mail-again', limit: 1, windowSeconds: 300 }, nameKey),
    }),
    confirmationCodes: createConfirmationCodes(stores, {
      mailer,
      limit: createUsageLimit(createCounter, { name: 'confirmation-code', limit: 5, ...perHour }),
    }),
    signIn: createSignIn(stores, guard),
    /** Begins a sign-in with a social provider or a passkey, whose failures count only for the IP address. */
    beginSocialAttempt: (address: string) => guard.beginAttempt({ address }),
    /** Begins to check a second factor. Its failures count like wrong passwords of the account. */
    beginFactorAttempt: async ({ username }: Account, address: string, device: string | undefined) =>
      guard.beginAttempt({ name: (await accounts.lookUpForSignIn(username)).name, address, device }),
    /** Who enters wrong codes knows the password. The owner gets a mail after five in a day, once a day. */
    warnAboutWrongFactors: async (account: Account): Promise<void> => {
      const { failures, limit } = await wrongFactors.add(account.id);
      if (failures === limit) await accountServices.emails.sendWrongFactors(account);
    },
    /** Deletes the count of failed sign-ins. With a second factor, a password reset is no complete sign-in. */
    resetFailures: async ({ id, username }: Account, { isComplete = false } = {}): Promise<void> => {
      if (!isComplete && (await factors.hasSecondFactor(id))) return;
      await guard.resetFailures((await accounts.lookUpForSignIn(username)).name);
    },
    userCodeGuard: createUserCodeGuard(createCounter),
    /** Limits the new passwords for an account or invitation, because estimating their strength takes much CPU time. */
    newPasswordLimit: createUsageLimit(createCounter, { name: 'new-password', limit: 30, ...perHour }),
    // Each of these two limits counts the requests of one IP address. It is high because many users can share one.
    registrationLimit: createUsageLimit(createCounter, { name: 'register', limit: 200, ...perHour }, addressKey),
    resetLinkLimit: createUsageLimit(createCounter, { name: 'reset', limit: 100, ...perHour }, addressKey),
    findOrCreateSocialAccount: async (identity: SocialIdentity): Promise<Account> => {
      const { account, isNew } = await socialIdentities.findOrCreateAccount(identity);
      const detail = { provider: identity.provider };
      if (isNew) audit.record({ kind: 'account.registered', accountId: account.id, detail });
      return account;
    },
    invitations: createInvitations(stores, {
      mailer,
      // An invitation sends an e-mail. The limits protect the recipients, and the reputation of the mail server.
      perFacility: createUsageLimit(createCounter, { name: 'invite', limit: 100, ...perHour }),
      perRecipient: createUsageLimit(createCounter, { name: 'invited', limit: 10, ...perHour }, nameKey),
    }),
    facilityEmails: createFacilityEmails(stores, {
      mailer,
      limit: createUsageLimit(createCounter, { name: 'facility-mail', limit: 100, ...perHour }),
      factorLimit: createUsageLimit(createCounter, { name: 'factor-mail', limit: 3, windowSeconds: 86_400 }),
    }),
  };

  const scopes = createScopeTable(config.scopeBase);
  const resource = createResourceServer({ scopes, audience: config.bookingsAudience, issuer: config.issuer });
  const lifetimes = createTokenLifetimes(config);
  const artifacts = createArtifactStore({ db });
  const deviceCodes = createDeviceCodes({ db, artifacts });
  const endSession = createEndSession({ db, sendLogoutTokens });
  const recordFirstUse = createReplayDetection(artifacts);
  const protocol = {
    scopes,
    resource,
    lifetimes,
    artifacts,
    deviceCodes,
    endSession,
    recordFirstUse,
    tokenRateLimit: createRateLimit(config.rateLimitPerMinute),
    limitPushedRequests: createPushedRequestLimit(createCounter),
    proofs: createProofVerifier({ secret: nonceSecretOf(config), recordFirstUse }),
    interactions: createInteractions(provider),
    grants: createConsentGrants(provider, resource),
    findDeviceRequest: createDeviceSignIn(provider, config.issuer, deviceCodes, lifetimes.deviceCode),
  };

  const cookies = createBrowserCookies(provider, config.issuer);
  const providerSessions = createProviderSessions(provider, artifacts, endSession);
  const sessions = createBrowserSessions(stores, providerSessions);
  const devices = createDeviceCookies(cookies, config);
  const csrfTokens = createCsrfTokens(cookies, config);
  const site = createSite({ findSignedIn: sessions.current, csrfTokens, cookies });
  const providers = createSocialProviders(config.socialProviders);
  const pageServices = {
    cookies,
    csrfTokens,
    devices,
    sessions,
    site,
    providerPages: createProviderPages(site.findLayoutUser),
    providers,
    passkeys: createPasskeys(config, factors),
    authorizationFlow: createAuthorizationFlow(stores, providers),
  };

  const outbound = createOutboundClient({ allowNetworks: config.outboundAllowNetworks });
  return {
    services: { ...stores, ...accountServices, ...protocol, ...pageServices, outbox, mailSender, outbound },
    startSession: createStartSession(stores, {
      providerSessions,
      sessions,
      devices,
      cookies,
      interactions: protocol.interactions,
    }),
  };
}
