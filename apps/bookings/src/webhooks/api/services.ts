// Defines what the handlers of the endpoints for webhooks need, and finds a webhook of a client.
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { SecretBox } from '@bay-booking/service/secret-box';
import type { FeedStore } from '../../changes/feed/store.ts';
import { apiError } from '../../errors.ts';
import type { ApiRequest, SharedServices } from '../../http/shared-services.ts';
import type { IdempotencyStore } from '../../idempotency/store.ts';
import { isUuid } from '../../places/tagged-id.ts';
import type { CursorStore } from '../delivery/cursor-store.ts';
import type { DeliveryStore } from '../delivery/delivery-store.ts';
import type { Webhook } from '../webhook.ts';
import type { WebhookStore } from './store.ts';

export interface WebhookServices extends SharedServices {
  readonly store: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly cursors: CursorStore;
  readonly feed: FeedStore;
  readonly idempotency: IdempotencyStore;
  readonly secretBox: SecretBox;
  readonly outbound: OutboundClient;
  /** Makes the worker look for deliveries immediately. */
  readonly wakeWorker: () => void;
}

/**
 * @throws {ApiError} 404 if the webhook does not exist, belongs to another client, or has a facility that the token
 * does not name
 */
export async function findWebhook(
  { store }: WebhookServices,
  { params: { id = '' }, caller: { clientId, facilities } }: ApiRequest,
): Promise<Webhook> {
  const found = isUuid(id) ? await store.find(clientId, facilities, id) : undefined;
  if (!found) throw apiError('ERR00404');
  return found;
}
