// Handles the requests of owners and staff that list the webhooks of a facility, and take the facility out of one.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { PageRequest } from '@bay-booking/common/page';
import type { CallerRequest } from '../../auth/caller.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError } from '../../errors.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../../http/pagination.ts';
import type { Webhook } from '../webhook.ts';
import type { WebhookServices } from './services.ts';

export async function listFacilityWebhooks(
  services: WebhookServices,
  request: CallerRequest<Partial<PageRequest>>,
): Promise<EndpointResponse> {
  const { query, caller } = request;
  const facilityId = managedFacility(request);
  const page = pageRequest(query, defaultPageSizes.webhooks);
  const { rows, total } = await services.store.listOfFacility(facilityId, page);
  // The other facilities may belong to somebody else.
  const items = rows.map(({ facilityIds, ...webhook }) => ({
    ...webhook,
    facilityIds: facilityIds.filter((id) => caller.facilities.includes(id)),
  }));
  const path = `/api/facilities/${encodeURIComponent(facilityId)}/webhooks`;
  return listResponse({ path, query, page }, items, total, services.link);
}

export async function removeFacilityWebhook(
  services: WebhookServices,
  request: CallerRequest,
): Promise<EndpointResponse> {
  const facilityId = managedFacility(request);
  const { webhookId = '' } = request.params;
  const expectFacility = ({ facilityIds }: Webhook): void => {
    if (!facilityIds.includes(facilityId)) throw apiError('ERR00404');
  };
  const found = isUuid(webhookId) && (await services.store.takeOut(webhookId, [facilityId], expectFacility));
  if (!found) throw apiError('ERR00404');
  services.audit(request, { action: 'webhook.facility-removed', facilityIds: [facilityId], target: webhookId });
  return { status: 204 };
}

/** @throws {ApiError} 404 if the token does not name the facility */
function managedFacility({ params: { id = '' }, caller }: CallerRequest): string {
  if (!caller.facilities.includes(id)) throw apiError('ERR00404');
  return id;
}
