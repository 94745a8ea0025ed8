// Finds, lists, updates, deletes and pings the webhooks of a client, rotates their secrets, and lists their deliveries.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { offsetOf, type PageRequest } from '@bay-booking/common/page';
import type { ValidationError } from '@bay-booking/common/validation';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { SecretBox } from '@bay-booking/service/secret-box';
import type { Caller } from '../../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../../errors.ts';
import { checkIfMatch, versionedResponse } from '../../http/etag.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../../http/pagination.ts';
import type { SharedServices } from '../../http/shared-services.ts';
import { isUuid } from '../../places/tagged-id.ts';
import type { DeliveryStore } from '../delivery/delivery-store.ts';
import { type DeliveryState, newSecret, type Webhook } from '../webhook.ts';
import { webhookPath, webhookResource, withSecret } from './resource.ts';
import type { LatestNumbers, WebhookStore } from './store.ts';
import { findWebhookErrors, type RequestedWebhook } from './validation.ts';

/** How long the previous secret also signs deliveries after a rotation. */
const previousSecretMilliseconds = 24 * 3_600_000;

export interface ManagementServices extends SharedServices {
  readonly store: WebhookStore;
  readonly deliveries: Pick<DeliveryStore, 'addPing' | 'list'>;
  readonly secretBox: SecretBox;
  readonly outbound: Pick<OutboundClient, 'urlError'>;
  /**
   * Returns the number of the latest change of each facility. If a facility is added to a webhook, the webhook gets
   * only the later changes of this facility. If a disabled webhook is enabled, this applies to all its facilities.
   */
  readonly findLatestNumbers: (facilities: readonly string[]) => Promise<LatestNumbers>;
  /** Makes the worker look for deliveries immediately. */
  readonly wakeWorker: () => void;
}

export interface UpdateRequest {
  readonly body: RequestedWebhook & { readonly state?: 'active' | 'paused' };
  readonly validationErrors: readonly ValidationError[];
  readonly ifMatch: string | undefined;
}

export function createWebhookManagement(services: ManagementServices) {
  const { store, deliveries, secretBox, outbound, findLatestNumbers, wakeWorker, link, now } = services;

  /**
   * @throws {ApiError} 404 if the webhook does not exist, belongs to another client, or has a facility that the token
   * does not name
   */
  async function find(id: string, { clientId, facilities }: Caller): Promise<Webhook> {
    const found = isUuid(id) ? await store.find(clientId, facilities, id) : undefined;
    if (!found) throw apiError('ERR00404');
    return found;
  }

  const responseOf = (webhook: Webhook): EndpointResponse => versionedResponse(webhookResource(webhook, link));

  /** Returns the function that checks If-Match when the store has locked the webhook. */
  const ifMatchCheck =
    (ifMatch: string | undefined) =>
    (webhook: Webhook): void =>
      checkIfMatch(ifMatch, webhookResource(webhook, link));

  return {
    find,

    get: async (id: string, caller: Caller): Promise<EndpointResponse> => responseOf(await find(id, caller)),

    list: async (query: Partial<PageRequest>, { clientId, facilities }: Caller): Promise<EndpointResponse> => {
      const page = pageRequest(query, defaultPageSizes.webhooks);
      // A client has so few webhooks that one statement reads them all.
      const all = await store.list(clientId, facilities);
      const offset = offsetOf(page);
      const items = all.slice(offset, offset + page.pageSize).map((webhook) => webhookResource(webhook, link));
      return listResponse({ path: '/api/webhooks', query, page }, items, all.length, link);
    },

    update: async (
      id: string,
      { body, validationErrors, ifMatch }: UpdateRequest,
      caller: Caller,
    ): Promise<EndpointResponse> => {
      const webhook = await find(id, caller);
      const errors = [
        ...validationErrors,
        ...findWebhookErrors(body.url, body.facilityIds, caller.facilities, outbound),
      ];
      if (errors.length > 0) throw badRequest(problemsOf(errors));
      const change = {
        url: body.url ?? webhook.url,
        events: body.events ? [...new Set(body.events)] : webhook.events,
        facilityIds: body.facilityIds ? [...new Set(body.facilityIds)] : webhook.facilityIds,
        description: body.description ?? webhook.description,
        state: body.state ?? webhook.state,
      };
      const latest = await findLatestNumbers(change.facilityIds);
      // Undefined if the webhook was deleted since `find`.
      const updated = await store.update(id, change, { latest, at: now(), check: ifMatchCheck(ifMatch) });
      if (!updated) throw apiError('ERR00404');
      // If the update makes a paused webhook active, some of its deliveries may already be due.
      wakeWorker();
      return responseOf(updated);
    },

    delete: async (id: string, ifMatch: string | undefined, caller: Caller): Promise<EndpointResponse> => {
      await find(id, caller);
      if (!(await store.delete(id, ifMatchCheck(ifMatch)))) throw apiError('ERR00404');
      return { status: 204 };
    },

    rotate: async (id: string, caller: Caller): Promise<EndpointResponse> => {
      await find(id, caller);
      const at = now();
      const secret = newSecret();
      const previousUntil = new Date(at.getTime() + previousSecretMilliseconds);
      // The encrypted secret can be decrypted only for the webhook with this id.
      if (!(await store.rotate(id, secretBox.encrypt(secret, id), previousUntil, at))) throw apiError('ERR00404');
      return withSecret(responseOf(await find(id, caller)), secret);
    },

    ping: async (id: string, caller: Caller): Promise<EndpointResponse> => {
      await find(id, caller);
      const at = now();
      const body = JSON.stringify({ type: 'webhook.ping', timestamp: at.toISOString(), data: {} });
      await deliveries.addPing(id, randomUUID(), body, at);
      wakeWorker();
      return { status: 202 };
    },

    listDeliveries: async (
      id: string,
      query: Partial<PageRequest> & { readonly state?: DeliveryState },
      caller: Caller,
    ): Promise<EndpointResponse> => {
      const webhook = await find(id, caller);
      const page = pageRequest(query, defaultPageSizes.deliveries);
      const { rows, total } = await deliveries.list(webhook.id, query.state, page);
      return listResponse({ path: `${webhookPath(webhook)}/deliveries`, query, page }, rows, total, link);
    },
  };
}
