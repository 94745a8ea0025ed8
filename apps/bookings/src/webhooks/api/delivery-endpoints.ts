// Describes and handles the endpoints that send events to a webhook again, and list its deliveries.
import { randomUUID } from 'node:crypto';
import type { ApiError } from '@bay-booking/common/errors';
import type { Caller, CallerRequest } from '../../auth/caller.ts';
import type { FeedStore } from '../../changes/feed/store.ts';
import { isUuid } from '../../database/tagged-id.ts';
import { apiError, badRequest, problemsOf, tooManyRequests } from '../../errors.ts';
import { defineEndpoint, type EndpointServices, pageSuccess, string } from '../../http/endpoint-parts.ts';
import { listExample, listResponse, pageRequest } from '../../http/pagination.ts';
import { type CursorStore, maxReplayedEvents } from '../delivery/cursor-store.ts';
import type { DeliveryStore } from '../delivery/delivery-store.ts';
import type { Resend } from '../delivery/resend-store.ts';
import { namesAllFacilities, type Webhook, type WebhookDelivery, webhookPath } from '../webhook.ts';
import { expectAllFacilities, findWebhook } from './access.ts';
import {
  deliveryListSchema,
  deliveryQuerySchema,
  exampleWebhookId,
  params,
  replayResultSchema,
  replaySchema,
  tag,
} from './schema.ts';
import type { WebhookStore } from './store.ts';

const deliveryExample: WebhookDelivery = {
  id: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2b',
  type: 'booking.created',
  facilityId: 'fac-north',
  bookingId: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2d',
  // The number of the change in the change feed.
  modified: 4711,
  state: 'delivered',
  attempts: 1,
  lastStatus: 204,
  lastError: null,
  lastAttemptAt: '2026-04-30T18:21:08.123Z',
  nextAttemptAt: null,
};

interface DeliveryServices extends EndpointServices {
  readonly store: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly cursors: CursorStore;
  readonly resend: Resend;
  readonly feed: Pick<FeedStore, 'numberChanges' | 'changesAfter' | 'countChanges'>;
  /** Makes the worker look for deliveries immediately. */
  readonly wakeWorker: () => void;
}

export function createDeliveryEndpoints(services: DeliveryServices) {
  const { store, deliveries, resend, wakeWorker, link, now } = services;
  const { baseUrl } = services.config;
  const listPath = (webhook: Pick<Webhook, 'id'>): string => `${webhookPath(webhook)}/deliveries`;
  const example = listExample(listPath({ id: exampleWebhookId }), {}, deliveryExample, link);

  return [
    defineEndpoint({
      operationId: 'pingWebhook',
      method: 'POST',
      access: 'write',
      path: '/api/webhooks/{id}/ping',
      tag,
      summary: 'Send a test event',
      description: 'Sends webhook.ping to the receiver.',
      params,
      success: { status: 202, description: 'The event will be sent.' },
      handle: async (request) => {
        const webhook = await findWebhook(store, request);
        expectAllFacilities(webhook, request.caller, baseUrl);
        const at = now();
        const body = JSON.stringify({ type: 'webhook.ping', timestamp: at.toISOString(), data: {} });
        await deliveries.addPing(webhook.id, randomUUID(), body, at);
        wakeWorker();
        return { status: 202 };
      },
    }),
    defineEndpoint({
      operationId: 'replayWebhook',
      method: 'POST',
      access: 'write',
      path: '/api/webhooks/{id}/replay',
      tag,
      summary: 'Send changes again',
      description:
        'Sends the bookings of a facility that have changed since a change number, as new deliveries: booking.created ' +
        'for those that came to the facility since, else booking.updated or booking.deleted. A webhook gets at most ' +
        '10,000 such events in an hour. If `next` is a number, continue after it.',
      params,
      body: replaySchema,
      bodyExample: { facilityId: 'fac-north', afterChangeNumber: 4711 },
      success: {
        status: 202,
        description: 'The events will be sent.',
        schema: replayResultSchema,
        example: { events: 12, next: null },
      },
      handle: (request) => replayChanges(services, request),
    }),
    defineEndpoint({
      operationId: 'listWebhookDeliveries',
      method: 'GET',
      access: 'write',
      path: '/api/webhooks/{id}/deliveries',
      tag,
      summary: 'List deliveries',
      description: 'The deliveries of the last 30 days for the facilities of the token, newest first.',
      params,
      query: deliveryQuerySchema,
      success: pageSuccess('deliveries', deliveryListSchema, example),
      handle: async (request) => {
        const { query, sentQuery, caller } = request;
        const webhook = await findWebhook(store, request);
        const page = pageRequest(query);
        const { rows, total } = await deliveries.list(deliveryFilter(webhook, caller), query.state, page);
        return listResponse({ path: listPath(webhook), sentQuery, page }, rows, total, link);
      },
    }),
    defineEndpoint({
      operationId: 'resendWebhookDelivery',
      method: 'POST',
      access: 'write',
      path: '/api/webhooks/{id}/deliveries/{deliveryId}/resend',
      tag,
      summary: 'Send a delivery again',
      description:
        'Sends the delivery at once, with the same `webhook-id` and the current state of the booking. The event is ' +
        'booking.deleted if the booking was deleted. Counts as an event of a replay.',
      params: { ...params, deliveryId: { description: 'Delivery ID.', schema: string, example: deliveryExample.id } },
      success: { status: 202, description: 'The event will be sent.' },
      handle: async (request) => {
        const { deliveryId = '' } = request.params;
        const webhook = await findWebhook(store, request);
        const at = now();
        // A facility that was removed from the webhook no longer sends events to it.
        const facilityIds = webhook.facilityIds.filter((id) => request.caller.facilities.includes(id));
        const filter = { ...deliveryFilter(webhook, request.caller), facilityIds };
        const result = isUuid(deliveryId) ? await resend(filter, deliveryId, at) : 'unknown';
        if (result === 'unknown') throw apiError('ERR00404');
        if (result !== 'added') throw tooManyEvents(result, at);
        wakeWorker();
        return { status: 202 };
      },
    }),
  ];
}

/**
 * Sends the changes of a facility after `afterChangeNumber` again, up to a maximum. The router has checked that no
 * field is missing.
 */
async function replayChanges(
  services: DeliveryServices,
  request: CallerRequest<unknown, { readonly facilityId?: string; readonly afterChangeNumber?: number }>,
) {
  const { facilityId = '', afterChangeNumber = 0 } = request.body;
  const { store, feed, cursors, now, config } = services;
  const webhook = await findWebhook(store, request);
  expectAllFacilities(webhook, request.caller, config.baseUrl);
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

/** The deliveries that the token may see. A ping belongs to all facilities of the webhook. */
function deliveryFilter(webhook: Webhook, caller: Caller) {
  const hasPings = namesAllFacilities(caller, webhook);
  return { webhookId: webhook.id, facilityIds: caller.facilities, hasPings };
}
