// Handles the requests that list, update, delete and ping webhooks, rotate their secrets, and list or repeat their
// deliveries.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ApiError } from '@bay-booking/common/errors';
import type { PageRequest } from '@bay-booking/common/page';
import type { Caller, CallerRequest } from '../../auth/caller.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError, badRequest, problemsOf, tooManyRequests } from '../../errors.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../../http/pagination.ts';
import { checkResourceEtag, versionedResponse } from '../../http/response.ts';
import { maxReplayedEvents } from '../delivery/cursor-store.ts';
import { type DeliveryState, newSecret, type Webhook } from '../webhook.ts';
import { namesAllFacilities, webhookPath, webhookResource, withSecret } from './resource.ts';
import { findWebhookErrors, type RequestedWebhook } from './schema.ts';
import { expectAllFacilities, expectCreator, findWebhook, type WebhookServices } from './services.ts';

/** How long the previous secret also signs deliveries after a rotation. */
const previousSecretMilliseconds = 24 * 3_600_000;

export async function getWebhook(services: WebhookServices, request: CallerRequest): Promise<EndpointResponse> {
  return responseOf(services, request, await findWebhook(services, request));
}

export async function listWebhooks(
  { store, link }: WebhookServices,
  { query, caller }: CallerRequest<Partial<PageRequest>>,
): Promise<EndpointResponse> {
  const page = pageRequest(query, defaultPageSizes.webhooks);
  const { rows, total } = await store.list(caller, page);
  const items = rows.map((webhook) => webhookResource(webhook, caller, link));
  return listResponse({ path: '/api/webhooks', query, page }, items, total, link);
}

export async function updateWebhook(
  services: WebhookServices,
  request: CallerRequest<unknown, RequestedWebhook & { readonly state?: 'active' | 'paused' }>,
): Promise<EndpointResponse> {
  const { body, caller } = request;
  const webhook = await findWebhook(services, request);
  const checkRights = (before: Webhook): void => {
    expectAllFacilities(services, before, caller);
    if (body.url !== undefined && body.url !== before.url) expectCreator(services, before, caller);
  };
  checkRights(webhook);
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
    checkRights(before);
    checkVersion(before);
  };
  const updated = await services.store.update(webhook.id, change, caller, { latest, at: services.now(), check });
  // The webhook was deleted since it was found.
  if (!updated) throw apiError('ERR00404');
  // If the update makes a paused webhook active, some of its deliveries may already be due.
  services.wakeWorker();
  const facilityIds = [...new Set([...webhook.facilityIds, ...updated.facilityIds])];
  services.audit(request, { action: 'webhook.updated', facilityIds, target: webhook.id });
  return responseOf(services, request, updated);
}

/** Takes the facilities of the token out of the webhook, which deletes a webhook that keeps none. */
export async function deleteWebhook(services: WebhookServices, request: CallerRequest): Promise<EndpointResponse> {
  const { id } = await findWebhook(services, request);
  const { facilities } = request.caller;
  const before = await services.store.takeOut(id, facilities, ifMatchCheck(services, request));
  const facilityIds = before?.facilityIds.filter((facilityId) => facilities.includes(facilityId)) ?? [];
  if (!before || facilityIds.length === 0) throw apiError('ERR00404');
  const action = namesAllFacilities(request.caller, before) ? 'webhook.deleted' : 'webhook.facility-removed';
  services.audit(request, { action, facilityIds, target: id });
  return { status: 204 };
}

export async function rotateWebhookSecret(
  services: WebhookServices,
  request: CallerRequest,
): Promise<EndpointResponse> {
  const { caller } = request;
  const webhook = await findWebhook(services, request);
  expectAllFacilities(services, webhook, caller);
  expectCreator(services, webhook, caller);
  const { id } = webhook;
  const at = services.now();
  const secret = newSecret();
  const previousUntil = new Date(at.getTime() + previousSecretMilliseconds);
  // The encrypted secret can be decrypted only for the webhook with this id.
  const encrypted = services.secretBox.encrypt(secret, id);
  if (!(await services.store.rotate(id, encrypted, caller, { previousUntil, at }))) throw apiError('ERR00404');
  services.audit(request, { action: 'webhook.secret-rotated', facilityIds: webhook.facilityIds, target: id });
  return withSecret(responseOf(services, request, await findWebhook(services, request)), secret);
}

export async function pingWebhook(services: WebhookServices, request: CallerRequest): Promise<EndpointResponse> {
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
  request: CallerRequest<unknown, { readonly facilityId?: string; readonly afterChangeNumber?: number }>,
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
  const cursor = { webhookId: webhook.id, facilityId };
  const from = await cursors.findReplayStart(cursor, afterChangeNumber);
  const count = await feed.countChanges(facilityId, { from, after: afterChangeNumber, until }, maxReplayedEvents);
  const counts = {
    'booking.created': count.created,
    'booking.updated': count.updated,
    'booking.deleted': count.deleted,
  };
  const events = webhook.events.reduce((sum, type) => sum + counts[type], 0);
  const next = count.hasMore ? count.last : null;
  if (count.last !== null && (events > 0 || next !== null)) {
    const at = now();
    const replay = { from, after: afterChangeNumber, until: count.last, next, events };
    const retryAt = await cursors.startReplay(cursor, replay, at);
    if (retryAt) throw tooManyEvents(retryAt, at);
  }
  return { status: 202, body: { events, next } };
}

function tooManyEvents(retryAt: Date, now: Date): ApiError {
  const seconds = Math.max(1, Math.ceil((retryAt.getTime() - now.getTime()) / 1000));
  const limit = `A webhook sends at most ${maxReplayedEvents} events again in an hour`;
  return tooManyRequests(`${limit}, and an earlier replay must end first`, seconds);
}

export async function listDeliveries(
  services: WebhookServices,
  request: CallerRequest<Partial<PageRequest> & { readonly state?: DeliveryState }>,
): Promise<EndpointResponse> {
  const { query, caller } = request;
  const webhook = await findWebhook(services, request);
  const page = pageRequest(query, defaultPageSizes.deliveries);
  const { rows, total } = await services.deliveries.list(deliveryFilter(webhook, caller), query.state, page);
  return listResponse({ path: `${webhookPath(webhook)}/deliveries`, query, page }, rows, total, services.link);
}

/** The deliveries that the token may see. A ping belongs to all facilities of the webhook. */
function deliveryFilter(webhook: Webhook, caller: Caller) {
  const hasPings = namesAllFacilities(caller, webhook);
  return { webhookId: webhook.id, facilityIds: caller.facilities, hasPings };
}

export async function resendDelivery(services: WebhookServices, request: CallerRequest): Promise<EndpointResponse> {
  const { deliveryId = '' } = request.params;
  const webhook = await findWebhook(services, request);
  const at = services.now();
  // A facility that was taken out of the webhook no longer sends events to it.
  const facilityIds = webhook.facilityIds.filter((id) => request.caller.facilities.includes(id));
  const filter = { ...deliveryFilter(webhook, request.caller), facilityIds };
  const result = isUuid(deliveryId) ? await services.resend(filter, deliveryId, at) : 'unknown';
  if (result === 'unknown') throw apiError('ERR00404');
  if (result !== 'added') throw tooManyEvents(result, at);
  services.wakeWorker();
  return { status: 202 };
}

function responseOf({ link }: WebhookServices, { caller }: CallerRequest, webhook: Webhook): EndpointResponse {
  return versionedResponse(webhookResource(webhook, caller, link));
}

/** Returns the function that checks If-Match when the store has locked the webhook. */
function ifMatchCheck({ link }: WebhookServices, { header, caller }: CallerRequest): (webhook: Webhook) => void {
  return (webhook) => checkResourceEtag(header('if-match'), webhookResource(webhook, caller, link));
}
