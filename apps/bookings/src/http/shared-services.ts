// Defines the objects that all endpoints and the delivery of webhooks get.
import type { EndpointRequest } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
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

export interface AuditEvent {
  /** The subject and the action, such as `closure.created`. */
  readonly action: string;
  readonly facilityIds: readonly string[];
  readonly target: string | null;
}

interface AuditedRequest {
  readonly caller: Pick<Caller, 'clientId'> & { readonly subject: string | null };
  /** Undefined for a command. */
  readonly requestId?: string;
}

export type Audit = (request: AuditedRequest, event: AuditEvent) => void;

/**
 * Writes audit lines to the log: who changed what (docs/behaviour.md, "Health, metrics and logs"). Call the result only
 * after the change was committed.
 */
export function createAudit(logger: Logger): Audit {
  return ({ caller: { clientId, subject }, requestId }, { action, facilityIds, target }) =>
    logger.info({ requestId, audit: true, action, clientId, subject, facilityIds, target }, 'audit');
}
