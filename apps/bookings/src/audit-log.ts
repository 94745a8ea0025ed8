// Writes audit lines to the log: who changed what (docs/behaviour.md, "Health, metrics and logs").
import type { Logger } from '@bay-booking/service/logging';
import type { Caller } from './auth/caller.ts';

interface AuditedRequest {
  readonly caller: Pick<Caller, 'clientId'> & { readonly subject: string | null };
  /** Undefined for a command. */
  readonly requestId?: string;
}

interface AuditedChange {
  /** The subject and the action, such as `closure.created`. */
  readonly action: string;
  readonly facilityIds: readonly string[];
  readonly target: string | null;
}

/** Must be called only after the change was committed. */
export type AuditLog = ReturnType<typeof createAuditLog>;

export function createAuditLog(logger: Logger) {
  return (
    { caller: { clientId, subject }, requestId }: AuditedRequest,
    { action, facilityIds, target }: AuditedChange,
  ): void => logger.info({ requestId, audit: true, action, clientId, subject, facilityIds, target }, 'audit');
}
