// Creates the management API of places (docs/behaviour.md, "Management API").
import { type Endpoint, endpointDefiner, responseSchema } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { isText } from '@bay-booking/common/text';
import { createManagement } from '@bay-booking/records/management';
import type { Operator, RecordStore } from '@bay-booking/records/record';
import type { Database } from '@bay-booking/service/database/database';
import type { Router } from 'express';
import type { AuditLog } from '../audit-log.ts';
import type { AuthorizeRequest } from '../auth/access-token.ts';
import { checkScope } from '../auth/access-token.ts';
import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config.ts';
import type { CallerRateLimit } from '../http/rate-limit.ts';
import { createPlaceRecords } from './record.ts';
import { placeEvents } from './record-store.ts';
import { readStatus } from './status-store.ts';

export function createPlaceManagement(options: {
  readonly db: Database;
  readonly config: Pick<Config, 'baseUrl' | 'authIssuer' | 'scopeBase'>;
  readonly link: MakeLink;
  readonly audit: AuditLog;
  readonly authorize: AuthorizeRequest;
  readonly rateLimit: CallerRateLimit | undefined;
}): Router {
  const { db, link, audit, authorize, rateLimit } = options;
  const { baseUrl, authIssuer, scopeBase } = options.config;
  const scope = `${scopeBase}/operate/bookings`;
  const store = createPlaceRecords(db, link, audit);
  return createManagement({
    store,
    baseUrl,
    scope,
    title: 'Management API of Bookings',
    summary: 'Create, change and delete facilities, locations and bays.',
    tokenUrl: `${authIssuer}/connect/token`,
    actions: [statusEndpoint(store)],
    schemas: { FacilityStatus: statusSchema },
    events: placeEvents,
    authorize: async (request) => {
      const caller = await authorize(request);
      checkScope(caller, [[scope]], baseUrl);
      return caller;
    },
    check: (caller) => rateLimit?.(caller as Caller),
  });
}

const integer = { type: 'integer', minimum: 0 } as const;

const statusSchema = responseSchema({
  id: { type: 'string' },
  locations: integer,
  bays: integer,
  openBookings: { ...integer, description: 'The bookings that have not ended.' },
  webhooks: responseSchema({ active: integer, paused: integer, disabled: integer }),
  lastRequestAt: {
    type: ['string', 'null'],
    format: 'date-time',
    description: 'The last request with a token for the facility, to the minute. Null if there was none.',
  },
});

function statusEndpoint({ db, errors }: RecordStore): Endpoint<Operator> {
  return endpointDefiner<Operator>()({
    operationId: 'getFacilityStatus',
    method: 'GET',
    path: '/management/facilities/{id}/status',
    access: 'read',
    tag: 'Actions',
    summary: 'Get the status of a facility',
    description: 'How much a facility has, and when it was last used.',
    success: {
      status: 200,
      description: 'The status.',
      schema: statusSchema,
      example: {
        id: 'fac-north',
        locations: 2,
        bays: 16,
        openBookings: 120,
        webhooks: { active: 1, paused: 0, disabled: 0 },
        lastRequestAt: '2030-01-01T09:00:00.000Z',
      },
    },
    handle: async ({ params: { id = '' } }) => {
      const status = isText(id) ? await readStatus(db, id) : undefined;
      if (!status) throw errors.apiError('ERR00404');
      return { status: 200, body: status };
    },
  });
}
