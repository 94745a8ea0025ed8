// Creates the management API (docs/behaviour.md, "Management API").
import type { EventQuery, EventRow } from '@bay-booking/records/audit';
import { createImporter } from '@bay-booking/records/import-request';
import { createManagement } from '@bay-booking/records/management';
import { type Database, query } from '@bay-booking/service/database/database';
import type { RequestLocals } from '@bay-booking/service/http/app';
import type { Router } from 'express';
import type { Authorize } from '../auth/access-token.ts';
import type { AuthorizedRequest } from '../auth/dpop.ts';
import { checkScope } from '../auth/scopes.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import { textSchema } from '../http/schemas.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { formats } from '../time/date-times.ts';
import type { ImportSettings } from './import-worker.ts';
import { createPlaceRecords, mandatory, placeErrors } from './records.ts';
import { statusEndpoint, statusSchema } from './status.ts';

export interface ManagementParts extends Pick<SharedServices, 'config' | 'link' | 'audit'> {
  readonly db: Database;
  readonly authorize: Authorize;
  readonly rateLimit: RateLimit | undefined;
}

export function createPlaceManagement({ db, config, link, audit, authorize, rateLimit }: ManagementParts): Router {
  const { baseUrl, authIssuer, scopeBase, databaseUrl } = config;
  const scope = `${scopeBase}/operate/bookings`;
  const scopes = { read: scope, write: scope, schedule: scope };
  const store = createPlaceRecords(db, link);
  const settings: ImportSettings = { databaseUrl, baseUrl };
  const importer = createImporter(
    { store, errors: placeErrors },
    new URL('./import-worker.ts', import.meta.url),
    settings,
  );
  const { router } = createManagement({
    store,
    errors: placeErrors,
    link,
    importer,
    mandatory,
    formats,
    baseUrl,
    scope,
    title: 'Management API of Bookings',
    summary: 'Create, change and delete facilities, locations and bays.',
    tokenUrl: `${authIssuer}/connect/token`,
    actions: [statusEndpoint(db)],
    schemas: { FacilityStatus: statusSchema },
    events: {
      filters: { facilityId: { ...textSchema, description: 'Facility ID.' } },
      find: (request) => listEvents(db, request),
    },
    authorize: async (request, response) => {
      const caller = await authorize(request as AuthorizedRequest);
      (response.locals as RequestLocals).subject = caller.subject;
      checkScope(caller, 'write', scopes, baseUrl);
      if (rateLimit) response.set(await rateLimit(caller));
      return caller;
    },
    onCommit: (notes, { caller, requestId }) => {
      if (notes.length === 0) return;
      const { clientId, subject = null } = caller;
      const event = { action: 'import', facilityIds: notes as readonly string[], target: null };
      audit({ caller: { clientId, subject }, requestId }, event);
    },
  });
  return router;
}

// A null parameter does not filter.
const events = (comparison: '>' | '<', order: 'asc' | 'desc'): string => `select number::float8 as number, at, action,
  client_id as "clientId", facility_id as "facilityId", target, changed
from management_event
where ($1::bigint is null or number ${comparison} $1) and ($2::text is null or facility_id = $2)
  and ($3::text is null or action = $3) and ($4::timestamptz is null or at >= $4)
  and ($5::timestamptz is null or at < $5)
order by number ${order} limit $6`;
const oldestFirst = events('>', 'asc');
const newestFirst = events('<', 'desc');

function listEvents(db: Database, { isNewestFirst, after, filter, startDate, endDate, limit }: EventQuery) {
  const { facilityId = null, action = null } = filter;
  const values = [after ?? null, facilityId, action, startDate ?? null, endDate ?? null, limit];
  return query<EventRow>(db, isNewestFirst ? newestFirst : oldestFirst, values);
}
