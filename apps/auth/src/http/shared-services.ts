// Defines the services that nearly all modules of auth get. app.ts, user-pages.ts, portal/portal.ts and
// accounts/account-services.ts create the modules, and pass `...shared` to them. The options of a module list only the
// services that it uses. If a module needs another shared service, for example `config` for a new environment variable,
// only these options change.
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Audit } from '../audit/audit.ts';
import type { AuthConfig } from '../config.ts';

export interface SharedServices {
  readonly config: AuthConfig;
  readonly logger: Logger;
  /** The registry of the process. Each module registers its metrics there. */
  readonly metrics: Metrics;
  readonly audit: Audit;
}
