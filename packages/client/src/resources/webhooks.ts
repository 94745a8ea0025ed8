// Webhooks: register, change, test and replay. `@bay-booking/client/webhooks` verifies what they send.
import type { RequestOptions, Send } from '../operations.ts';
import { type PagedList, pagedList } from '../paged-list.ts';
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
import type { CreateOptions } from '../versions.ts';

export interface Webhooks {
  /** Returns the `secret` that verifies deliveries. No other call but rotateSecret returns a secret. */
  create(webhook: CreateWebhook, options?: CreateOptions): Promise<WebhookWithSecret>;
  /** Oldest first. */
  list(query?: { page?: number; pageSize?: number }, options?: RequestOptions): PagedList<WebhookList>;
  get(id: string, options?: RequestOptions): Promise<Webhook>;
  /** Fields that are left out do not change. */
  update(id: string, webhook: UpdateWebhook, options?: RequestOptions): Promise<Webhook>;
  delete(id: string, options?: RequestOptions): Promise<void>;
  /** Replaces the secret. The old one also signs for 24 hours. */
  rotateSecret(id: string, options?: RequestOptions): Promise<WebhookWithSecret>;
  /** Lets the service send a `webhook.ping`. */
  ping(id: string, options?: RequestOptions): Promise<void>;
  /** Lets the service send the changes after a change number again. */
  replay(id: string, body: ReplayWebhook, options?: RequestOptions): Promise<void>;
  /** The deliveries of the last 30 days, newest first. */
  deliveries(id: string, query?: DeliveryQuery, options?: RequestOptions): PagedList<DeliveryList>;
}

export const createWebhooks = (send: Send): Webhooks => ({
  create: async (body, options) => (await send('createWebhook', { body, ...options })).data,
  list: (query = {}, options) => pagedList(send, 'listWebhooks', { query, ...options }),
  get: async (id, options) => (await send('getWebhook', { path: { id }, ...options })).data,
  update: async (id, body, options) => (await send('updateWebhook', { path: { id }, body, ...options })).data,
  delete: async (id, options) => {
    await send('deleteWebhook', { path: { id }, ...options });
  },
  rotateSecret: async (id, options) => (await send('rotateWebhookSecret', { path: { id }, ...options })).data,
  ping: async (id, options) => {
    await send('pingWebhook', { path: { id }, ...options });
  },
  replay: async (id, body, options) => {
    await send('replayWebhook', { path: { id }, body, ...options });
  },
  deliveries: (id, query = {}, options) =>
    pagedList(send, 'listWebhookDeliveries', { path: { id }, query, ...options }),
});
