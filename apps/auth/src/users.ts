// Composition of the people's side: accounts, guards, mail, sessions and every page. app.ts mounts its routes and hands its rules to the
// provider.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { type RequestHandler, Router } from 'express';
import type { Provider } from 'oidc-provider';
import { accountRoutes } from './account/routes.ts';
import { createAccountMail } from './accounts/account-mail.ts';
import { createExpiredStore } from './accounts/expired-store.ts';
import { createOneTimeLinks } from './accounts/one-time-links.ts';
import { createSignIn } from './accounts/sign-in.ts';
import { createAccountStore, type SocialIdentity } from './accounts/store.ts';
import type { Audit } from './audit/audit.ts';
import type { AuthConfig } from './config.ts';
import type { FacilityStore } from './facilities/store.ts';
import { countFailuresIn } from './guard/failure-counter.ts';
import { addressKey, nameKey } from './guard/keys.ts';
import { createSignInGuard } from './guard/sign-in-guard.ts';
import { limitUse } from './guard/use-limit.ts';
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
import { openPostOffice } from './mail/outbox-mailer.ts';
import { createMailStore } from './mail/store.ts';
import { idpParameter } from './oidc/authorization-request.ts';
import type { ScopeTable } from './oidc/scopes.ts';
import type { ArtifactStore } from './oidc/storage/adapter.ts';
import { createSocialTrips } from './social/authorization-flow.ts';
import { connectProviders } from './social/connections.ts';
import { createNativeExchange } from './social/native.ts';
import { createSocialRoutes } from './social/routes.ts';
import { createSocialStore } from './social/store.ts';

export interface PeopleOptions {
  readonly db: Database;
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly audit: Audit;
  readonly provider: () => Provider;
  readonly artifacts: ArtifactStore;
  readonly facilities: FacilityStore;
  readonly scopes: ScopeTable;
}

export function createPeople(options: PeopleOptions) {
  const { db, config, logger, audit, provider, artifacts, facilities, scopes } = options;
  const store = createAccountStore({ db });
  const accounts = {
    ...store,
    findOrCreateBySocial: async (identity: SocialIdentity) => {
      const account = await store.findOrCreateBySocial(identity);
      if (account.isNew) {
        audit.record({ kind: 'account.registered', accountId: account.id, detail: { provider: identity.provider } });
      }
      return account;
    },
  };
  const count = countFailuresIn(db);
  const guard = createSignInGuard(count, config.signInLimits);
  const { signIn } = createSignIn({ accounts, guard, audit });
  const hour = 3600;
  const registrations = limitUse(count, { name: 'register', limit: 200, window: hour }, addressKey);
  const resets = limitUse(count, { name: 'reset', limit: 100, window: hour }, addressKey);
  const perRecipient = limitUse(count, { name: 'mail', limit: 5, window: hour }, nameKey);

  const postOffice = openPostOffice({
    store: createMailStore({ db }),
    smtpUrl: config.smtpUrl,
    on: config.mail === 'on',
    from: config.mailFrom,
    logger,
  });
  const links = createOneTimeLinks({ db });
  const mail = createAccountMail({ issuer: config.issuer, links, accounts, postOffice, perRecipient, audit, logger });

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
    sendVerification: mail.sendVerification,
    audit,
  });

  const trips = createSocialTrips({ connect, store: createSocialStore({ db }), issuer: config.issuer });
  const social = createSocialRoutes({ provider, providers, trips, site, sessions, pages, accounts, audit });
  const { whoIs } = createNativeExchange({ providers, connect, logger });

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
      mail,
      resets,
      signOutEverywhere: sessionStore.endEverything,
      forgive: guard.forgive,
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
      setOut: social.setOut,
      signIn,
      mail,
      scopes,
      audit,
    }),
  );

  return {
    accounts,
    site,
    sessions,
    postOffice,
    count,
    signIn,
    whoIs,
    isSocialProvider: (name: string): boolean => providers.has(name),
    policy: createInteractionPolicy(idpParameter),
    loadExistingGrant: consent.load,
    routes: router as RequestHandler,
    cleanUp: createExpiredStore({ db }).cleanUp,
    settle: async (): Promise<void> => {
      await mail.settled();
    },
    close: async (): Promise<void> => {
      await mail.settled();
      await postOffice.close();
    },
  };
}
