// Registers, changes, tests and replays webhooks. `@bay-booking/client/webhooks` verifies the deliveries of a webhook.
import type { RequestOptions, Send } from '../operations.ts';
import type {
  CreateWebhook,
  DeliveryList,
  DeliveryQuery,
  ReplayWebhook,
  UpdateWebhook,
  Webhook,
  WebhookList,
  WebhookWithSecret,
} from '../schemas.ts';
import { type PagedList, pagedList } from './paged-list.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export interface Webhooks {
  /** Returns the `secret` that verifies deliveries. Only this call and `rotateSecret` return a secret. */
  create(webhook: CreateWebhook, options?: CreateOptions): Promise<Versioned<WebhookWithSecret>>;
  /** Lists the webhooks, oldest first. */
  list(query?: { page?: number; pageSize?: number }, options?: RequestOptions): PagedList<WebhookList>;
  get(id: string, options?: RequestOptions): Promise<Versioned<Webhook>>;
  /** Fields that are left out keep their values. */
  update(id: string, webhook: UpdateWebhook, options?: ChangeOptions): Promise<Versioned<Webhook>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** For 24 hours, the service signs deliveries with the new and with the old secret. */
  rotateSecret(id: string, options?: RequestOptions): Promise<Versioned<WebhookWithSecret>>;
  ping(id: string, options?: RequestOptions): Promise<void>;
  replay(id: string, body: ReplayWebhook, options?: RequestOptions): Promise<void>;
  /** Lists the deliveries of the last 30 days, newest first. */
  deliveries(id: string, query?: DeliveryQuery, options?: RequestOptions): PagedList<DeliveryList>;
}

export const createWebhooks = (send: Send): Webhooks => ({
  create: async (body, options) => versioned(await send('createWebhook', { body, ...options })),
  list: (query = {}, options) => pagedList(send, 'listWebhooks', { query, ...options }),
  get: async (id, options) => versioned(await send('getWebhook', { path: { id }, ...options })),
  update: async (id, body, options = {}) =>
    versioned(await send('updateWebhook', { path: { id }, body, ...conditional(options) })),
  delete: async (id, options = {}) => {
    await send('deleteWebhook', { path: { id }, ...conditional(options) });
  },
  rotateSecret: async (id, options) => versioned(await send('rotateWebhookSecret', { path: { id }, ...options })),
  ping: async (id, options) => {
    await send('pingWebhook', { path: { id }, ...options });
  },
  replay: async (id, body, options) => {
    await send('replayWebhook', { path: { id }, body, ...options });
  },
  deliveries: (id, query = {}, options) =>
    pagedList(send, 'listWebhookDeliveries', { path: { id }, query, ...options }),
});
