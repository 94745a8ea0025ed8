// Handles the requests that list, update, delete and ping webhooks, rotate their secrets, list their deliveries, and
// send changes again.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ApiError } from '@bay-booking/common/errors';
import type { PageRequest } from '@bay-booking/common/page';
import { apiError, badRequest, problemsOf } from '../../errors.ts';
import { checkIfMatch, versionedResponse } from '../../http/etag.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../../http/pagination.ts';
import type { ApiRequest } from '../../http/shared-services.ts';
import { maxReplayedEvents } from '../delivery/cursor-store.ts';
import { type DeliveryState, newSecret, type Webhook } from '../webhook.ts';
import { webhookPath, webhookResource, withSecret } from './resource.ts';
import { expectAllFacilities, findWebhook, type WebhookServices } from './services.ts';
import { findWebhookErrors, type RequestedWebhook } from './validation.ts';

/** How long the previous secret also signs deliveries after a rotation. */
const previousSecretMilliseconds = 24 * 3_600_000;

export async function getWebhook(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  return responseOf(services, await findWebhook(services, request));
}

export async function listWebhooks(
  { store, link }: WebhookServices,
  { query, caller }: ApiRequest<Partial<PageRequest>>,
): Promise<EndpointResponse> {
  const page = pageRequest(query, defaultPageSizes.webhooks);
  const { rows, total } = await store.list(caller, page);
  const items = rows.map((webhook) => webhookResource(webhook, link));
  return listResponse({ path: '/api/webhooks', query, page }, items, total, link);
}

export async function updateWebhook(
  services: WebhookServices,
  request: ApiRequest<unknown, RequestedWebhook & { readonly state?: 'active' | 'paused' }>,
): Promise<EndpointResponse> {
  const { body, caller } = request;
  const webhook = await findWebhook(services, request);
  expectAllFacilities(services, webhook, caller);
  const errors = [
    ...request.validationErrors,
    ...findWebhookErrors(body.url, body.facilityIds, caller.facilities, services.outbound),
  ];
  if (errors.length > 0) throw badRequest(problemsOf(errors));
  const change = {
    url: body.url,
    events: body.events && [...new Set(body.events)],
    facilityIds: body.facilityIds && [...new Set(body.facilityIds)],
    description: body.description,
    state: body.state,
  };
  const latest = await services.feed.numberChanges(change.facilityIds ?? webhook.facilityIds);
  const checkVersion = ifMatchCheck(services, request);
  const check = (before: Webhook): void => {
    expectAllFacilities(services, before, caller);
    checkVersion(before);
  };
  const updated = await services.store.update(webhook.id, change, caller, { latest, at: services.now(), check });
  // The webhook was deleted since it was found.
  if (!updated) throw apiError('ERR00404');
  // If the update makes a paused webhook active, some of its deliveries may already be due.
  services.wakeWorker();
  const facilityIds = [...new Set([...webhook.facilityIds, ...updated.facilityIds])];
  services.audit(request, { action: 'webhook.updated', facilityIds, target: webhook.id });
  return responseOf(services, updated);
}

export async function deleteWebhook(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  const { id, facilityIds } = await findWebhook(services, request);
  if (!(await services.store.delete(id, ifMatchCheck(services, request)))) throw apiError('ERR00404');
  services.audit(request, { action: 'webhook.deleted', facilityIds, target: id });
  return { status: 204 };
}

export async function rotateSecret(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  const { caller } = request;
  const webhook = await findWebhook(services, request);
  expectAllFacilities(services, webhook, caller);
  const { id } = webhook;
  const at = services.now();
  const secret = newSecret();
  const previousUntil = new Date(at.getTime() + previousSecretMilliseconds);
  // The encrypted secret can be decrypted only for the webhook with this id.
  const encrypted = services.secretBox.encrypt(secret, id);
  if (!(await services.store.rotate(id, encrypted, caller, { previousUntil, at }))) throw apiError('ERR00404');
  services.audit(request, { action: 'webhook.secret-rotated', facilityIds: webhook.facilityIds, target: id });
  return withSecret(responseOf(services, await findWebhook(services, request)), secret);
}

export async function pingWebhook(services: WebhookServices, request: ApiRequest): Promise<EndpointResponse> {
  const webhook = await findWebhook(services, request);
  expectAllFacilities(services, webhook, request.caller);
  const at = services.now();
  const body = JSON.stringify({ type: 'webhook.ping', timestamp: at.toISOString(), data: {} });
  await services.deliveries.addPing(webhook.id, randomUUID(), body, at);
  services.wakeWorker();
  return { status: 202 };
}

/**
 * Sends the changes of a facility after `afterChangeNumber` again, up to a maximum. The router has checked that no
 * field is missing.
 */
export async function replayChanges(
  services: WebhookServices,
  request: ApiRequest<unknown, { readonly facilityId?: string; readonly afterChangeNumber?: number }>,
): Promise<EndpointResponse> {
  const { facilityId = '', afterChangeNumber = 0 } = request.body;
  const { feed, cursors, now } = services;
  const webhook = await findWebhook(services, request);
  expectAllFacilities(services, webhook, request.caller);
  if (!webhook.facilityIds.includes(facilityId)) {
    const hint = 'must be a facility of the webhook';
    throw badRequest(problemsOf([{ field: 'facilityId', kind: 'invalid', hint }]));
  }
  const until = (await feed.numberChanges([facilityId])).get(facilityId) ?? 0;
  // Deletions up to `removedNumber` were removed from the feed, so the replay would lack some deletions.
  const { removedNumber } = await feed.changesAfter(facilityId, afterChangeNumber, 0);
  if (afterChangeNumber < removedNumber) throw apiError('ERR00410');
  const count = await feed.countChanges(facilityId, afterChangeNumber, until, maxReplayedEvents);
  const { updated, deleted, last, hasMore } = count;
  const events =
    (webhook.events.includes('booking.updated') ? updated : 0) +
    (webhook.events.includes('booking.deleted') ? deleted : 0);
  if (events > 0 && last !== null) {
    const at = now();
    const replay = { from: afterChangeNumber, to: last, events };
    const retryAt = await cursors.startReplay({ webhookId: webhook.id, facilityId }, replay, at);
    if (retryAt) throw tooManyEvents(retryAt, at);
  }
  return { status: 202, body: { events, next: hasMore ? last : null } };
}

function tooManyEvents(retryAt: Date, now: Date): ApiError {
  const seconds = Math.max(1, Math.ceil((retryAt.getTime() - now.getTime()) / 1000));
  return apiError('ERR00429', {
    moreInfo: `A webhook replays at most ${maxReplayedEvents} events in an hour, and an earlier replay must end first.`,
    headers: { 'Retry-After': String(seconds) },
  });
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
