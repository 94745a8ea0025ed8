// Describes and handles the endpoints that staff use to list the webhooks of a facility and to remove the facility
// from a webhook.
import { named, responseSchema } from '@bay-booking/common/endpoint';
import type { CallerRequest } from '../../auth/caller.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError } from '../../errors.ts';
import {
  dateTimeSchema as dateTime,
  defineEndpoint,
  type EndpointServices,
  pageSuccess,
  string,
} from '../../http/endpoint-parts.ts';
import { listExample, listResponse, listSchema, pageRequest } from '../../http/pagination.ts';
import { type Webhook, webhookStates } from '../webhook.ts';
import {
  exampleWebhookId,
  facilityIds,
  nullableDateTime,
  tag,
  webhookBodyExample,
  webhookQuerySchema,
} from './schema.ts';
import type { FacilityWebhook, WebhookStore } from './store.ts';

const facilityWebhookSchema = responseSchema({
  id: { type: 'string', description: 'Webhook ID.' },
  url: { type: 'string', format: 'uri', description: 'The URL of the receiver.' },
  owner: { type: 'string', description: 'The `sub` of the tokens that can change the webhook.' },
  clientId: { type: 'string', description: 'The client that created the webhook, or changed it last.' },
  facilityIds: { ...facilityIds, description: 'The facilities of the webhook, as far as the token names them.' },
  state: { type: 'string', enum: webhookStates, description: 'Only an active webhook gets events.' },
  lastSuccessAt: { ...nullableDateTime, description: 'The last successful delivery, to the minute; null before.' },
  createdAt: { ...dateTime, description: 'Creation timestamp, UTC.' },
});

const facilityWebhookListSchema = named('FacilityWebhookList', listSchema(facilityWebhookSchema));

const params = { id: { description: 'Facility ID.', schema: string, example: 'fac-north' } } as const;
const listPath = (facilityId: string): string => `/api/facilities/${encodeURIComponent(facilityId)}/webhooks`;

const webhookExample: FacilityWebhook = {
  id: exampleWebhookId,
  url: webhookBodyExample.url,
  owner: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2c',
  clientId: 'partner-back-end',
  facilityIds: ['fac-north'],
  state: 'active',
  lastSuccessAt: '2026-04-30T18:21:08.123Z',
  createdAt: '2026-04-30T18:21:07.123Z',
};

export function createFacilityWebhookEndpoints({ store, link, audit }: EndpointServices & { store: WebhookStore }) {
  const example = listExample(listPath('fac-north'), {}, webhookExample, link);

  return [
    defineEndpoint({
      operationId: 'listFacilityWebhooks',
      method: 'GET',
      access: 'schedule',
      path: '/api/facilities/{id}/webhooks',
      tag,
      summary: 'List the webhooks of a facility',
      description: 'The webhooks of all owners that get the events of the facility.',
      params,
      query: webhookQuerySchema,
      success: pageSuccess('webhooks', facilityWebhookListSchema, example),
      handle: async (request) => {
        const { query, sentQuery, caller } = request;
        const facilityId = managedFacility(request);
        const page = pageRequest(query);
        const { rows, total } = await store.listOfFacility(facilityId, page);
        // The other facilities may belong to somebody else.
        const items = rows.map(({ facilityIds, ...webhook }) => ({
          ...webhook,
          facilityIds: facilityIds.filter((id) => caller.facilities.includes(id)),
        }));
        const path = listPath(facilityId);
        return listResponse({ path, sentQuery, page }, items, total, link);
      },
    }),
    defineEndpoint({
      operationId: 'removeFacilityWebhook',
      method: 'DELETE',
      access: 'schedule',
      path: '/api/facilities/{id}/webhooks/{webhookId}',
      tag,
      summary: 'Take a facility out of a webhook',
      description:
        'The webhook, of any owner, gets no more events of the facility. A webhook without facilities is deleted.',
      params: { ...params, webhookId: { description: 'Webhook ID.', schema: string, example: exampleWebhookId } },
      success: { status: 204, description: 'Taken out.' },
      handle: async (request) => {
        const facilityId = managedFacility(request);
        const { webhookId = '' } = request.params;
        const expectFacility = ({ facilityIds }: Webhook): void => {
          if (!facilityIds.includes(facilityId)) throw apiError('ERR00404');
        };
        const found = isUuid(webhookId) && (await store.removeFacilities(webhookId, [facilityId], expectFacility));
        if (!found) throw apiError('ERR00404');
        audit(request, { action: 'webhook.facility-removed', facilityIds: [facilityId], target: webhookId });
        return { status: 204 };
      },
    }),
  ];
}

/** @throws {ApiError} 404 if the token does not name the facility */
function managedFacility({ params: { id = '' }, caller }: CallerRequest): string {
  if (!caller.facilities.includes(id)) throw apiError('ERR00404');
  return id;
}
