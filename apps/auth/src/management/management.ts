// Creates the management API (docs/behaviour.md, "Management API").
import { atPointer } from '@bay-booking/common/validation';
import { createManagement } from '@bay-booking/records/management';
import { transaction } from '@bay-booking/service/database/database';
import { sendErrors } from '@bay-booking/service/http/app';
import type { Router } from 'express';
import type { Audit, AuditEvent } from '../audit/audit.ts';
import { lockRecords, storeOperatorEvents } from '../audit/operator-store.ts';
import type { AuthConfig } from '../config.ts';
import type { RejectRequest } from '../http/corrected-request.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import type { Mailer } from '../outbox/mailer.ts';
import type { FacilityEmails } from '../portal/facility-emails.ts';
import { type ActionParts, actionEndpoints, actionSchemas } from './actions.ts';
import type { Authorize } from './authorize.ts';
import { accountErrors, createAccountRecords } from './records.ts';
import { operatorEvents } from './store.ts';

/** The audit event of an export with hashes and factors. */
export const credentialsExported: AuditEvent = { kind: 'credentials.exported' };

/** Uses the error envelope of the management API for its paths. */
export const rejectOperator =
  (reject: RejectRequest): RejectRequest =>
  (request, response, rejected) => {
    if (!request.path.startsWith('/management/')) return reject(request, response, rejected);
    const { badRequest, problemsOf } = accountErrors;
    return sendErrors(response, badRequest(problemsOf([atPointer('/query', 'invalid', rejected.description)])));
  };

export async function createAccountManagement(options: {
  readonly emails: ActionParts['emails'];
  readonly facilityEmails: FacilityEmails;
  readonly mailer: Mailer;
  readonly invitations: ActionParts['invitations'];
  readonly config: AuthConfig;
  readonly db: Parameters<typeof createAccountRecords>[0];
  readonly scopes: ScopeTable;
  readonly audit: Pick<Audit, 'log'>;
  readonly sendLogoutTokens: () => void;
  readonly authorize: Authorize;
}): Promise<Router> {
  const { config, db, scopes, audit, emails, facilityEmails, mailer, invitations, sendLogoutTokens, authorize } =
    options;
  const { issuer } = config;
  const onCommit = (events: readonly AuditEvent[]): void => {
    for (const event of events) audit.log(event);
    sendLogoutTokens();
  };
  const store = await createAccountRecords(db, config, onCommit);
  return createManagement({
    store,
    authorize,
    title: 'Management API of Auth',
    summary: 'Create, change and delete facilities, accounts and clients.',
    baseUrl: issuer,
    tokenUrl: `${issuer}/connect/token`,
    scope: scopes.operateAuth,
    events: operatorEvents,
    exportQuery: {
      credentials: { enum: ['hashed'], description: 'Adds hashes of passwords and secrets, and second factors.' },
    },
    // Before the credentials leave, so that no export is missing in the audit trail.
    beforeExport: async ({ credentials }, { clientId }) => {
      if (credentials !== 'hashed') return;
      const events: AuditEvent[] = [];
      await transaction(db, async (tx) => {
        await lockRecords(tx);
        await storeOperatorEvents(tx, { clientId, events }, [credentialsExported]);
      });
      onCommit(events);
    },
    actions: actionEndpoints({ emails, facilityEmails, mailer, invitations, store, issuer }),
    schemas: actionSchemas,
  });
}
