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
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from '../versions.ts';

export interface Webhooks {
  /** Returns the `secret` that verifies deliveries. No other call but rotateSecret returns a secret. */
  create(webhook: CreateWebhook, options?: CreateOptions): Promise<Versioned<WebhookWithSecret>>;
  /** Oldest first. */
  list(query?: { page?: number; pageSize?: number }, options?: RequestOptions): PagedList<WebhookList>;
  get(id: string, options?: RequestOptions): Promise<Versioned<Webhook>>;
  /** Fields that are left out do not change. */
  update(id: string, webhook: UpdateWebhook, options?: ChangeOptions): Promise<Versioned<Webhook>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** Replaces the secret. The old one also signs for 24 hours. */
  rotateSecret(id: string, options?: RequestOptions): Promise<Versioned<WebhookWithSecret>>;
  /** Lets the service send a `webhook.ping`. */
  ping(id: string, options?: RequestOptions): Promise<void>;
  /** Lets the service send the changes after a change number again. */
  replay(id: string, body: ReplayWebhook, options?: RequestOptions): Promise<void>;
  /** The deliveries of the last 30 days, newest first. */
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
