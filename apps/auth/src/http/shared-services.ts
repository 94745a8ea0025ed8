// Defines the services that nearly all modules of auth get. The options of a module list only those that it uses.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Audit } from '../audit/audit.ts';
import type { AuthConfig } from '../config.ts';

export interface SharedServices {
  readonly config: AuthConfig;
  readonly logger: Logger;
  /** The registry of the process. Each module registers its metrics there. */
  readonly metrics: Metrics;
  readonly db: Database;
  readonly audit: Audit;
}
