// Creates what oidc-provider and our own OAuth endpoints use (part of app.ts).
import type { Database } from '@bay-booking/service/database/database';
import { createOutboundClient } from '@bay-booking/service/outbound/client';
import type { AuthConfig } from '../config.ts';
import type { FailureCounterFactory } from '../guard/failure-counter.ts';
import { createPushedRequestLimit } from '../guard/usage-limit.ts';
import { createRateLimit } from '../http/rate-limit.ts';
import { createConsentGrants } from '../oidc/authorization/consent-grants.ts';
import { createDeviceSignIn } from '../oidc/authorization/device-sign-in.ts';
import { createInteractions } from '../oidc/authorization/interactions.ts';
import { createBrowserCookies } from '../oidc/cookies.ts';
import type { ProviderManager } from '../oidc/provider-manager.ts';
import { createScopeTable } from '../oidc/scopes.ts';
import { createProviderSessions } from '../oidc/sessions.ts';
import { createArtifactStore } from '../oidc/storage/artifacts.ts';
import { createDeviceCodes } from '../oidc/storage/device-codes.ts';
import { createEndSession } from '../oidc/storage/sessions.ts';
import { createProofVerifier, nonceSecretOf } from '../oidc/tokens/dpop.ts';
import { createReplayDetection } from '../oidc/tokens/replay-detection.ts';
import { createResourceServer } from '../oidc/tokens/resource-server.ts';
import { createTokenLifetimes } from '../oidc/tokens/token-lifetimes.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { createRevocationStore } from '../revocations/store.ts';

export interface ProviderComposition {
  readonly config: AuthConfig;
  readonly db: Database;
  readonly outbox: Outbox;
  readonly createCounter: FailureCounterFactory;
  readonly provider: ProviderManager['provider'];
}

export function composeProvider({ config, db, outbox, createCounter, provider }: ProviderComposition) {
  const scopes = createScopeTable(config.scopeBase);
  const resource = createResourceServer({ scopes, audience: config.bookingsAudience, issuer: config.issuer });
  const lifetimes = createTokenLifetimes(config);
  const artifacts = createArtifactStore({ db });
  const deviceCodes = createDeviceCodes({ db, artifacts });
  const endSession = createEndSession({ db, sendLogoutTokens: outbox.wake });
  const recordFirstUse = createReplayDetection(artifacts);
  return {
    scopes,
    resource,
    lifetimes,
    artifacts,
    deviceCodes,
    endSession,
    recordFirstUse,
    revocations: createRevocationStore({ db }),
    outbound: createOutboundClient({ allowNetworks: config.outboundAllowNetworks }),
    tokenRateLimit: createRateLimit(config.rateLimitPerMinute),
    limitPushedRequests: createPushedRequestLimit(createCounter),
    proofs: createProofVerifier({ secret: nonceSecretOf(config), recordFirstUse }),
    cookies: createBrowserCookies(provider, config.issuer),
    interactions: createInteractions(provider),
    providerSessions: createProviderSessions(provider, artifacts, endSession),
    grants: createConsentGrants(provider, resource),
    findDeviceRequest: createDeviceSignIn(provider, config.issuer, deviceCodes, lifetimes.deviceCode),
  };
}
