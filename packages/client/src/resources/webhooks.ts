// Registers, changes, tests and replays webhooks. `@bay-booking/client/webhooks` verifies deliveries.
import type { RequestOptions, Send } from '../operations.ts';
import type * as api from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export type Webhooks = ReturnType<typeof createWebhooks>;

export const createWebhooks = (send: Send) => ({
  /** Returns the `secret` that verifies deliveries. Only this call and `rotateSecret` return a secret. */
  create: async (webhook: api.CreateWebhook, options?: CreateOptions): Promise<Versioned<api.WebhookWithSecret>> =>
    versioned(await send('createWebhook', { body: webhook, ...options })),
  /** Lists the webhooks, oldest first. */
  list: (query: { page?: number; pageSize?: number } = {}, options?: RequestOptions): PagedList<api.WebhookList> =>
    pagedList(send, 'listWebhooks', { query, ...options }),
  get: async (id: string, options?: RequestOptions): Promise<Versioned<api.Webhook>> =>
    versioned(await send('getWebhook', { path: { id }, ...options })),
  /** Fields that are left out keep their values. */
  update: async (id: string, webhook: api.UpdateWebhook, options?: ChangeOptions): Promise<Versioned<api.Webhook>> =>
    versioned(await send('updateWebhook', { path: { id }, body: webhook, ...conditional(options) })),
  delete: async (id: string, options?: ChangeOptions): Promise<void> => {
    await send('deleteWebhook', { path: { id }, ...conditional(options) });
  },
  /** For 24 hours, the service signs deliveries with both the new and the old secret. */
  rotateSecret: async (id: string, options?: RequestOptions): Promise<Versioned<api.WebhookWithSecret>> =>
    versioned(await send('rotateWebhookSecret', { path: { id }, ...options })),
  ping: async (id: string, options?: RequestOptions): Promise<void> => {
    await send('pingWebhook', { path: { id }, ...options });
  },
  /** Sends at most 10,000 events. If `next` of the result is a number, continue after it. */
  replay: async (id: string, body: api.ReplayWebhook, options?: RequestOptions): Promise<api.ReplayResult> =>
    (await send('replayWebhook', { path: { id }, body, ...options })).data,
  /** Lists the deliveries of the last 30 days, newest first. */
  deliveries: (id: string, query: api.DeliveryQuery = {}, options?: RequestOptions): PagedList<api.DeliveryList> =>
    pagedList(send, 'listWebhookDeliveries', { path: { id }, query, ...options }),
  /** Sends a delivery again, with the current state of its booking. */
  resend: async (id: string, deliveryId: string, options?: RequestOptions): Promise<void> => {
    await send('resendWebhookDelivery', { path: { id, deliveryId }, ...options });
  },
  /** Lists the webhooks of all owners at a facility. Needs the scope `golf/schedule`. */
  listOfFacility: (
    id: string,
    query: { page?: number; pageSize?: number } = {},
    options?: RequestOptions,
  ): PagedList<api.FacilityWebhookList> => pagedList(send, 'listFacilityWebhooks', { path: { id }, query, ...options }),
  /** Stops the facility's events for a webhook of any owner. Needs the scope `golf/schedule`. */
  removeFromFacility: async (id: string, webhookId: string, options?: RequestOptions): Promise<void> => {
    await send('removeFacilityWebhook', { path: { id, webhookId }, ...options });
  },
});
