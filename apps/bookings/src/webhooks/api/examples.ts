// Creates the examples of webhooks and deliveries for the OpenAPI document.
import type { MakeLink } from '@bay-booking/common/links';
import { defaultPageSizes, listExample } from '../../http/pagination.ts';
import { bookingEvents, type WebhookDelivery } from '../webhook.ts';
import { webhookPath, webhookResource } from './resource.ts';
import type { FacilityWebhook } from './store.ts';

export const webhookBodyExample = {
  url: 'https://partner.example/hooks',
  events: [...bookingEvents],
  description: 'Till in the clubhouse',
};

export const exampleWebhookId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2a';
export const exampleDeliveryId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2b';

export function webhookExample(link: MakeLink) {
  return webhookResource(
    {
      id: exampleWebhookId,
      owner: 'not part of the resource',
      createdBy: 'not part of the resource',
      ...webhookBodyExample,
      facilityIds: ['fac-north'],
      state: 'active',
      pausedBecause: null,
      failingSince: null,
      createdAt: '2026-04-30T18:21:07.123Z',
      lastUpdatedAt: '2026-04-30T18:21:07.123Z',
    },
    { facilities: ['fac-north'] },
    link,
  );
}

export function webhookListExample(link: MakeLink) {
  return listExample('/api/webhooks', {}, defaultPageSizes.webhooks, webhookExample(link), link);
}

export const replayResultExample = { events: 12, next: null };

export function facilityWebhookListExample(link: MakeLink) {
  const webhook: FacilityWebhook = {
    id: exampleWebhookId,
    url: webhookBodyExample.url,
    owner: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2c',
    clientId: 'partner-back-end',
    facilityIds: ['fac-north'],
    state: 'active',
    lastSuccessAt: '2026-04-30T18:21:08.123Z',
    createdAt: '2026-04-30T18:21:07.123Z',
  };
  return listExample('/api/facilities/fac-north/webhooks', {}, defaultPageSizes.webhooks, webhook, link);
}

export function deliveryListExample(link: MakeLink) {
  const delivery: WebhookDelivery = {
    id: exampleDeliveryId,
    type: 'booking.created',
    facilityId: 'fac-north',
    bookingId: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2d',
    // The number of the change in the change feed.
    modified: 4711,
    state: 'delivered',
    attempts: 1,
    lastStatus: 204,
    lastError: null,
    lastAttemptAt: '2026-04-30T18:21:08.123Z',
    nextAttemptAt: null,
  };
  const path = `${webhookPath({ id: exampleWebhookId })}/deliveries`;
  return listExample(path, {}, defaultPageSizes.deliveries, delivery, link);
}
