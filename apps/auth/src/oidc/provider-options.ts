// Lists what a provider uses.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { OutboundClient } from '@bay-booking/service/outbound';
import type { Audit } from '../audit/audit.ts';
import type { ClientStore } from '../clients/store.ts';
import type { AuthConfig } from '../config.ts';
import type { LimitPushedRequests } from '../guard/usage-limit.ts';
import type { RevocationStore } from '../revocations/store.ts';
import type { Services } from '../services.ts';
import type { SocialProviders } from '../social/settings.ts';
import type { RateLimit } from './clients/policy.ts';
import type { ProviderPages } from './pages.ts';
import type { ScopeTable } from './scopes.ts';
import type { ArtifactStore } from './storage/artifacts.ts';
import type { DeviceCodes } from './storage/device-codes.ts';
import type { EndSession } from './storage/sessions.ts';
import type { ProofVerifier, RecordFirstUse } from './tokens/dpop.ts';
import type { ResourceServer } from './tokens/resource-server.ts';
import type { TokenLifetimes } from './tokens/token-lifetimes.ts';

/** Everything outlives the provider, which is replaced when the keys change. */
export interface ProviderOptions {
  readonly services: Pick<Services, 'accounts' | 'factors' | 'consents' | 'signIn' | 'attempts' | 'socialIdentities'>;
  readonly config: AuthConfig;
  readonly logger: Logger;
  readonly db: Database;
  readonly audit: Audit;
  readonly outbound: OutboundClient;
  readonly scopes: ScopeTable;
  readonly resource: ResourceServer;
  readonly lifetimes: TokenLifetimes;
  readonly artifacts: ArtifactStore;
  readonly deviceCodes: DeviceCodes;
  readonly endSession: EndSession;
  readonly recordFirstUse: RecordFirstUse;
  readonly revocations: RevocationStore;
  readonly proofs: ProofVerifier;
  readonly tokenRateLimit: RateLimit;
  readonly limitPushedRequests: LimitPushedRequests;
  readonly clients: ClientStore;
  readonly socialProviders: SocialProviders;
  readonly pages: ProviderPages;
}
