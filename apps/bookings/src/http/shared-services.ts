// Defines the objects that all endpoints and the delivery of webhooks get.
import type { EndpointRequest } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { Metrics } from '@bay-booking/service/metrics';
import type { Audit } from '../audit.ts';
import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config.ts';

export interface SharedServices {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly link: MakeLink;
  readonly audit: Audit;
  readonly now: () => Date;
}

export type ApiRequest<Query = unknown, Body = unknown> = EndpointRequest<Query, Body, Caller>;
