// Creates what several pages use. Each page names those of these services that it uses.
import type { Database } from '@bay-booking/service/database/database';
import type { Audit } from './audit/audit.ts';
import type { AuthConfig } from './config.ts';
import { createCsrfTokens } from './html/csrf-tokens.ts';
import { createSite } from './html/site.ts';
import type { BrowserCookies } from './http/browser-cookies.ts';
import { createBrowserSessions } from './interaction/sign-in/browser-session.ts';
import { createDeviceCookies } from './interaction/sign-in/device-cookie.ts';
import { createStartSession } from './interaction/sign-in/start-session.ts';
import type { ConsentGrants } from './oidc/authorization/consent-grants.ts';
import type { FindDeviceRequest } from './oidc/authorization/device-sign-in.ts';
import type { Interactions } from './oidc/authorization/interactions.ts';
import type { ScopeTable } from './oidc/scopes.ts';
import type { ProviderSessions } from './oidc/sessions.ts';
import type { Outbox } from './outbox/outbox.ts';
import type { Services } from './services.ts';
import type { SocialProviders } from './social/settings.ts';

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
