// Defines the services that every endpoint can use. The endpoints of each subject also get the stores that they need.
import type { MakeLink } from '@bay-booking/common/links';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Config } from '../config.ts';

export interface SharedServices {
  readonly config: Config;
  /** The metrics of the service, to which an endpoint can add metrics for its subject. */
  readonly metrics: Metrics;
  readonly link: MakeLink;
  readonly now: () => Date;
}
