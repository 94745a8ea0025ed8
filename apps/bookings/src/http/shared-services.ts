// Defines the objects that all endpoints get. The feeder and the worker of webhooks also get them. A new environment
// variable or metric is therefore defined in one file and used in another, and no file in between passes it on.
import type { MakeLink } from '@bay-booking/common/links';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Config } from '../config.ts';

export interface SharedServices {
  readonly config: Config;
  /** The registry of the process. Every module that has metrics registers them there. */
  readonly metrics: Metrics;
  readonly link: MakeLink;
  readonly now: () => Date;
}
