// Creates the examples of webhooks and deliveries for the OpenAPI document.
import type { MakeLink } from '@bay-booking/common/links';
import { defaultPageSizes, listResponse } from '../../http/pagination.ts';
import { bookingEvents, type Delivery } from '../webhook.ts';
import { webhookPath, webhookResource } from './resource.ts';

export const webhookBodyExample = {
  url: 'https://partner.example/hooks',
  events: [...bookingEvents],
  description: 'Till in the clubhouse',
};

export const exampleWebhookId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2a';

export function webhookExample(link: MakeLink) {
  return webhookResource(
    {
      id: exampleWebhookId,
      clientId: 'not part of the resource',
      ...webhookBodyExample,
      facilityIds: ['fac-north'],
      state: 'active',
      failingSince: null,
      createdAt: '2026-04-30T18:21:07.123Z',
      lastUpdatedAt: '2026-04-30T18:21:07.123Z',
    },
    link,
  );
}

export function webhookWithSecretExample(link: MakeLink) {
  return { ...webhookExample(link), secret: 'whsec_SECRET' };
}

export function webhookListExample(link: MakeLink) {
  const page = { page: 1, pageSize: defaultPageSizes.webhooks };
  return listResponse({ path: '/api/webhooks', query: {}, page }, [webhookExample(link)], 1, link).body;
}

export function deliveryListExample(link: MakeLink) {
  const delivery: Delivery = {
    id: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2b',
    type: 'booking.created',
    facilityId: 'fac-north',
    // The number of the change in the change feed.
    modified: 4711,
    state: 'delivered',
    attempts: 1,
    lastStatus: 204,
    lastAttemptAt: '2026-04-30T18:21:08.123Z',
    nextAttemptAt: null,
  };
  const page = { page: 1, pageSize: defaultPageSizes.deliveries };
  const path = `${webhookPath({ id: exampleWebhookId })}/deliveries`;
  return listResponse({ path, query: {}, page }, [delivery], 1, link).body;
}
