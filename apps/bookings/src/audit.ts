// Writes audit lines to the log: who changed what (docs/behaviour.md, "Health, metrics and logs").
import type { Logger } from '@bay-booking/service/logging';
import type { Caller } from './auth/caller.ts';

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

/** Call it only after the change was committed. */
export function createAudit(logger: Logger): Audit {
  return ({ caller: { clientId, subject }, requestId }, { action, facilityIds, target }) =>
    logger.info({ requestId, audit: true, action, clientId, subject, facilityIds, target }, 'audit');
}
