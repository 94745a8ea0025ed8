// Handles the requests that list, update, delete and ping webhooks, rotate their secrets, list their deliveries, and
// send changes again.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { offsetOf, type PageRequest } from '@bay-booking/common/page';
import { apiError, badRequest, problemsOf } from '../../errors.ts';
import { checkIfMatch, versionedResponse } from '../../http/etag.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../../http/pagination.ts';
import type { ApiRequest } from '../../http/shared-services.ts';
import { type DeliveryState, newSecret, type Webhook } from '../webhook.ts';
import { webhookPath, webhookResource, withSecret } from './resource.ts';
import { findWebhook, type WebhookServices } from './services.ts';
import { findWebhookErrors, type RequestedWebhook } from './validation.ts';

/** How long the previous secret also signs deliveries after a rotation. */
const previousSecretMilliseconds = 24 * 3_600_000;

const accepted: EndpointResponse = { status: 202 };

export async function getWebhook(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  return responseOf(services, await findWebhook(services, request));
}

export async function listWebhooks(
  { store, link }: WebhookServices,
  { query, caller: { clientId, facilities } }: ApiRequest<Partial<PageRequest>>,
): Promise<EndpointResponse> {
  const page = pageRequest(query, defaultPageSizes.webhooks);
  // A client has so few webhooks that one statement reads them all.
  const all = await store.list(clientId, facilities);
  const offset = offsetOf(page);
  const items = all.slice(offset, offset + page.pageSize).map((webhook) => webhookResource(webhook, link));
  return listResponse({ path: '/api/webhooks', query, page }, items, all.length, link);
}

export async function updateWebhook(
  services: WebhookServices,
  request: ApiRequest<unknown, RequestedWebhook & { readonly state?: 'active' | 'paused' }>,
): Promise<EndpointResponse> {
  const { body, caller } = request;
  const webhook = await findWebhook(services, request);
  const errors = [
    ...request.validationErrors,
    ...findWebhookErrors(body.url, body.facilityIds, caller.facilities, services.outbound),
  ];
  if (errors.length > 0) throw badRequest(problemsOf(errors));
  const change = {
    url: body.url ?? webhook.url,
    events: body.events ? [...new Set(body.events)] : webhook.events,
    facilityIds: body.facilityIds ? [...new Set(body.facilityIds)] : webhook.facilityIds,
    description: body.description ?? webhook.description,
    state: body.state ?? webhook.state,
  };
  const latest = await services.feed.numberChanges(change.facilityIds);
  const options = { latest, at: services.now(), check: ifMatchCheck(services, request) };
  const updated = await services.store.update(webhook.id, change, options);
  // The webhook was deleted since it was found.
  if (!updated) throw apiError('ERR00404');
  // If the update makes a paused webhook active, some of its deliveries may already be due.
  services.wakeWorker();
  return responseOf(services, updated);
}

export async function deleteWebhook(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  const { id } = await findWebhook(services, request);
  if (!(await services.store.delete(id, ifMatchCheck(services, request)))) throw apiError('ERR00404');
  return { status: 204 };
}

export async function rotateSecret(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  const { id } = await findWebhook(services, request);
  const at = services.now();
  const secret = newSecret();
  const previousUntil = new Date(at.getTime() + previousSecretMilliseconds);
  // The encrypted secret can be decrypted only for the webhook with this id.
  const encrypted = services.secretBox.encrypt(secret, id);
  if (!(await services.store.rotate(id, encrypted, previousUntil, at))) throw apiError('ERR00404');
  return withSecret(responseOf(services, await findWebhook(services, request)), secret);
}

export async function pingWebhook(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  const { id } = await findWebhook(services, request);
  const at = services.now();
  const body = JSON.stringify({ type: 'webhook.ping', timestamp: at.toISOString(), data: {} });
  await services.deliveries.addPing(id, randomUUID(), body, at);
  services.wakeWorker();
  return accepted;
}

/** Sends all changes of a facility after `afterChangeNumber` again. The router has checked that no field is missing. */
export async function replayChanges(
  services: WebhookServices,
  request: ApiRequest<unknown, { readonly facilityId?: string; readonly afterChangeNumber?: number }>,
): Promise<EndpointResponse> {
  const { facilityId = '', afterChangeNumber = 0 } = request.body;
  const { id, facilityIds } = await findWebhook(services, request);
  if (!facilityIds.includes(facilityId)) {
    const hint = 'must be a facility of the webhook';
    throw badRequest(problemsOf([{ field: 'facilityId', kind: 'invalid', hint }]));
  }
  const changeNumber = (await services.feed.numberChanges([facilityId])).get(facilityId) ?? 0;
  // Deletions up to `removedNumber` were removed from the feed, so the replay would lack some deletions.
  const { removedNumber } = await services.feed.changesAfter(facilityId, afterChangeNumber, 0);
  if (afterChangeNumber < removedNumber) throw apiError('ERR00410');
  if (afterChangeNumber < changeNumber)
    await services.cursors.startReplay(id, facilityId, afterChangeNumber, changeNumber);
  return accepted;
}

export async function listDeliveries(
  services: WebhookServices,
  request: ApiRequest<Partial<PageRequest> & { readonly state?: DeliveryState }>,
): Promise<EndpointResponse> {
  const { query } = request;
  const webhook = await findWebhook(services, request);
  const page = pageRequest(query, defaultPageSizes.deliveries);
  const { rows, total } = await services.deliveries.list(webhook.id, query.state, page);
  return listResponse({ path: `${webhookPath(webhook)}/deliveries`, query, page }, rows, total, services.link);
}

function responseOf({ link }: WebhookServices, webhook: Webhook): EndpointResponse {
  return versionedResponse(webhookResource(webhook, link));
}

/** Returns the function that checks If-Match when the store has locked the webhook. */
function ifMatchCheck({ link }: WebhookServices, { header }: ApiRequest): (webhook: Webhook) => void {
  return (webhook) => checkIfMatch(header('if-match'), webhookResource(webhook, link));
}
