// Describes the endpoints for webhooks. Their handlers are in register.ts, manage.ts and facility.ts.
import {
  creationHeaders,
  defineEndpoint,
  deletionParts,
  etagHeader,
  idempotencyKeyHeader,
  ifMatchHeader,
  ifNoneMatchHeader,
  pageSuccess,
  string,
} from '../../http/endpoint-parts.ts';
import {
  deliveryListExample,
  exampleDeliveryId,
  exampleWebhookId,
  facilityWebhookListExample,
  replayResultExample,
  webhookBodyExample,
  webhookExample,
  webhookListExample,
} from './examples.ts';
import { listFacilityWebhooks, removeFacilityWebhook } from './facility.ts';
import {
  deleteWebhook,
  getWebhook,
  listDeliveries,
  listWebhooks,
  pingWebhook,
  replayChanges,
  resendDelivery,
  rotateWebhookSecret,
  updateWebhook,
} from './manage.ts';
import { registerWebhook } from './register.ts';
import {
  createWebhookSchema,
  deliveryListSchema,
  deliveryQuerySchema,
  facilityWebhookListSchema,
  replayResultSchema,
  replaySchema,
  updateWebhookSchema,
  webhookListSchema,
  webhookQuerySchema,
  webhookSchema,
  webhookWithSecretSchema,
} from './schema.ts';
import type { WebhookServices } from './services.ts';

const tag = 'Webhooks';
const params = { id: { description: 'Webhook ID.', schema: string, example: exampleWebhookId } } as const;

const facilityParams = { id: { description: 'Facility ID.', schema: string, example: 'fac-north' } } as const;

export function createWebhookEndpoints(services: WebhookServices) {
  const { link } = services;
  const success = {
    status: 200,
    description: 'The webhook.',
    schema: webhookSchema,
    example: webhookExample(link),
    headers: etagHeader,
  };
  const successWithSecret = {
    ...success,
    schema: webhookWithSecretSchema,
    example: { ...success.example, secret: 'whsec_SECRET' },
  };

  return [
    defineEndpoint({
      operationId: 'createWebhook',
      clientFunction: 'webhooks.create',
      method: 'POST',
      access: 'write',
      path: '/api/webhooks',
      tag,
      summary: 'Register a webhook',
      description:
        'The service sends changes of bookings to the address. Deliveries follow Standard Webhooks. The response to a ' +
        'repeated Idempotency-Key contains the secret too.',
      headers: idempotencyKeyHeader,
      body: createWebhookSchema,
      bodyExample: webhookBodyExample,
      success: {
        ...successWithSecret,
        status: 201,
        description: 'The webhook with its secret.',
        headers: creationHeaders,
      },
      handlesValidationErrors: true,
      handle: (request) => registerWebhook(services, request),
    }),
    defineEndpoint({
      operationId: 'listWebhooks',
      clientFunction: 'webhooks.list',
      method: 'GET',
      access: 'write',
      path: '/api/webhooks',
      tag,
      summary: 'List webhooks',
      description: 'The webhooks of the owner of which the token names a facility, oldest first.',
      query: webhookQuerySchema,
      success: pageSuccess('webhooks', webhookListSchema, webhookListExample(link)),
      handle: (request) => listWebhooks(services, request),
    }),
    defineEndpoint({
      operationId: 'getWebhook',
      clientFunction: 'webhooks.get',
      method: 'GET',
      access: 'write',
      path: '/api/webhooks/{id}',
      tag,
      summary: 'Get one webhook',
      description: 'A webhook of the owner, of which the token names a facility.',
      params,
      headers: ifNoneMatchHeader,
      success,
      notModified: true,
      handle: (request) => getWebhook(services, request),
    }),
    defineEndpoint({
      operationId: 'updateWebhook',
      clientFunction: 'webhooks.update',
      method: 'PUT',
      access: 'write',
      path: '/api/webhooks/{id}',
      tag,
      summary: 'Update a webhook',
      description:
        'Fields that are left out do not change. The token must name all facilities of the webhook. Only the client ' +
        'that registered the webhook (of a personal access token, every one of its account) can change its `url`.',
      params,
      body: updateWebhookSchema,
      bodyExample: { ...webhookBodyExample, state: 'paused' },
      headers: ifMatchHeader,
      success,
      handlesValidationErrors: true,
      handle: (request) => updateWebhook(services, request),
    }),
    defineEndpoint({
      operationId: 'deleteWebhook',
      clientFunction: 'webhooks.delete',
      method: 'DELETE',
      access: 'write',
      path: '/api/webhooks/{id}',
      tag,
      summary: 'Delete a webhook',
      description:
        'Takes the facilities of the token out of the webhook. A webhook that keeps none is deleted with its deliveries.',
      params,
      ...deletionParts,
      handle: (request) => deleteWebhook(services, request),
    }),
    defineEndpoint({
      operationId: 'rotateWebhookSecret',
      clientFunction: 'webhooks.rotateWebhookSecret',
      method: 'POST',
      access: 'write',
      path: '/api/webhooks/{id}/rotate',
      tag,
      summary: 'Replace the secret',
      description:
        'The old secret also signs for 24 hours. A second rotation drops the oldest secret. Only the client that ' +
        'registered the webhook (of a personal access token, every one of its account) can rotate.',
      params,
      success: { ...successWithSecret, description: 'The webhook with its new secret.' },
      handle: (request) => rotateWebhookSecret(services, request),
    }),
    defineEndpoint({
      operationId: 'pingWebhook',
      clientFunction: 'webhooks.ping',
      method: 'POST',
      access: 'write',
      path: '/api/webhooks/{id}/ping',
      tag,
      summary: 'Send a test event',
      description: 'Sends webhook.ping to the receiver.',
      params,
      success: { status: 202, description: 'The event will be sent.' },
      handle: (request) => pingWebhook(services, request),
    }),
    defineEndpoint({
      operationId: 'replayWebhook',
      clientFunction: 'webhooks.replay',
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
        example: replayResultExample,
      },
      handle: (request) => replayChanges(services, request),
    }),
    defineEndpoint({
      operationId: 'listWebhookDeliveries',
      clientFunction: 'webhooks.deliveries',
      method: 'GET',
      access: 'write',
      path: '/api/webhooks/{id}/deliveries',
      tag,
      summary: 'List deliveries',
      description: 'The deliveries of the last 30 days for the facilities of the token, newest first.',
      params,
      query: deliveryQuerySchema,
      success: pageSuccess('deliveries', deliveryListSchema, deliveryListExample(link)),
      handle: (request) => listDeliveries(services, request),
    }),
    defineEndpoint({
      operationId: 'resendWebhookDelivery',
      clientFunction: 'webhooks.resend',
      method: 'POST',
      access: 'write',
      path: '/api/webhooks/{id}/deliveries/{deliveryId}/resend',
      tag,
      summary: 'Send a delivery again',
      description:
        'Sends the delivery at once, with the same `webhook-id` and the current state of the booking. The event is ' +
        'booking.deleted if the booking was deleted. Counts as an event of a replay.',
      params: { ...params, deliveryId: { description: 'Delivery ID.', schema: string, example: exampleDeliveryId } },
      success: { status: 202, description: 'The event will be sent.' },
      handle: (request) => resendDelivery(services, request),
    }),
    defineEndpoint({
      operationId: 'listFacilityWebhooks',
      clientFunction: 'webhooks.listOfFacility',
      method: 'GET',
      access: 'schedule',
      path: '/api/facilities/{id}/webhooks',
      tag,
      summary: 'List the webhooks of a facility',
      description: 'The webhooks of all owners that get the events of the facility.',
      params: facilityParams,
      query: webhookQuerySchema,
      success: pageSuccess('webhooks', facilityWebhookListSchema, facilityWebhookListExample(link)),
      handle: (request) => listFacilityWebhooks(services, request),
    }),
    defineEndpoint({
      operationId: 'removeFacilityWebhook',
      clientFunction: 'webhooks.removeFromFacility',
      method: 'DELETE',
      access: 'schedule',
      path: '/api/facilities/{id}/webhooks/{webhookId}',
      tag,
      summary: 'Take a facility out of a webhook',
      description:
        'The webhook, of any owner, gets no more events of the facility. A webhook without facilities is deleted.',
      params: { ...facilityParams, webhookId: params.id },
      success: { status: 204, description: 'Taken out.' },
      handle: (request) => removeFacilityWebhook(services, request),
    }),
  ];
}
