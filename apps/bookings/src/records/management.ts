// Creates the management API (docs/behaviour.md, "Management API").
import type { MakeLink } from '@bay-booking/common/links';
import { createManagement } from '@bay-booking/records/management';
import type { Database } from '@bay-booking/service/database/database';
import type { Router } from 'express';
import type { AuditLog } from '../audit-log.ts';
import type { AuthorizeRequest } from '../auth/access-token.ts';
import type { Caller } from '../auth/caller.ts';
import { checkScope } from '../auth/scopes.ts';
import type { Config } from '../config.ts';
import type { CallerRateLimit } from '../http/rate-limit.ts';
import { createPlaceRecords } from './records.ts';
import { statusEndpoint, statusSchema } from './status.ts';

export interface ManagementParts {
  readonly config: Pick<Config, 'baseUrl' | 'authIssuer' | 'scopeBase'>;
  readonly link: MakeLink;
  readonly audit: AuditLog;
  readonly db: Database;
  readonly authorize: AuthorizeRequest;
  readonly rateLimit: CallerRateLimit | undefined;
}

export function createPlaceManagement({ db, config, link, audit, authorize, rateLimit }: ManagementParts): Router {
  const { baseUrl, authIssuer, scopeBase } = config;
  const scope = `${scopeBase}/operate/bookings`;
  const store = createPlaceRecords(db, link);
  return createManagement({
    store,
    link,
    baseUrl,
    scope,
    title: 'Management API of Bookings',
    summary: 'Create, change and delete facilities, locations and bays.',
    tokenUrl: `${authIssuer}/connect/token`,
    actions: [statusEndpoint(db)],
    schemas: { FacilityStatus: statusSchema },
    events,
    authorize: async (request) => {
      const caller = await authorize(request);
      checkScope(caller, [[scope]], baseUrl);
      return caller;
    },
    check: (caller) => rateLimit?.(caller as Caller),
    onCommit: (facilityIds, { caller, requestId }) => {
      if (facilityIds.length === 0) return;
      const { clientId, subject = null } = caller;
      const event = { action: 'import', facilityIds, target: null };
      audit({ caller: { clientId, subject }, requestId }, event);
    },
  });
}

const events = {
  rows: `select number, at, action, client_id as "clientId", facility_id as "facilityId", target, changed
    from management_event`,
};
