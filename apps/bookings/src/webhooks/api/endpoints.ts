// Describes the endpoints for the webhooks of an owner. The handlers that write are in write.ts.
import { defineEndpoint, deletionParts, itemSuccess, pageSuccess, sharedHeaders } from '../../http/endpoint-parts.ts';
import { listExample, listResponse, pageRequest } from '../../http/pagination.ts';
import { versionedResponse } from '../../http/response.ts';
import { webhookResource } from '../webhook.ts';
import { findWebhook } from './access.ts';
import {
  createWebhookSchema,
  params,
  tag,
  updateWebhookSchema,
  webhookBodyExample,
  webhookExample,
  webhookListSchema,
  webhookQuerySchema,
  webhookSchema,
  webhookWithSecretSchema,
} from './schema.ts';
import {
  deleteWebhook,
  registerWebhook,
  rotateWebhookSecret,
  updateWebhook,
  type WriteWebhookServices,
} from './write.ts';

const path = '/api/webhooks';

export function createWebhookEndpoints(services: WriteWebhookServices) {
  const { store, link } = services;
  const example = webhookExample(link);
  const success = itemSuccess('webhook', webhookSchema, example);
  const withSecret = { ...example, secret: 'whsec_SECRET' };
  const successWithSecret = itemSuccess('webhook', webhookWithSecretSchema, withSecret);

  return [
    defineEndpoint({
      operationId: 'createWebhook',
      method: 'POST',
      access: 'write',
      path,
      tag,
      summary: 'Register a webhook',
      description:
        'The service sends changes of bookings to the address. Deliveries follow Standard Webhooks. The response to a ' +
        'repeated Idempotency-Key contains the secret too.',
      headers: sharedHeaders.idempotencyKey,
      body: createWebhookSchema,
      bodyExample: webhookBodyExample,
      success: {
        ...successWithSecret,
        status: 201,
        description: 'The webhook with its secret.',
        headers: sharedHeaders.creation,
      },
      handlesValidationErrors: true,
      handle: (request) => registerWebhook(services, request),
    }),
    defineEndpoint({
      operationId: 'listWebhooks',
      method: 'GET',
      access: 'write',
      path,
      tag,
      summary: 'List webhooks',
      description: 'The webhooks of the owner of which the token names a facility, oldest first.',
      query: webhookQuerySchema,
      success: pageSuccess('webhooks', webhookListSchema, listExample(path, {}, example, link)),
      handle: async ({ query, sentQuery, caller }) => {
        const page = pageRequest(query);
        const { rows, total } = await store.list(caller, page);
        const items = rows.map((webhook) => webhookResource(webhook, caller, link));
        return listResponse({ path, sentQuery, page }, items, total, link);
      },
    }),
    defineEndpoint({
      operationId: 'getWebhook',
      method: 'GET',
      access: 'write',
      path: '/api/webhooks/{id}',
      tag,
      summary: 'Get one webhook',
      description: 'A webhook of the owner, of which the token names a facility.',
      params,
      headers: sharedHeaders.ifNoneMatch,
      success,
      handle: async (request) =>
        versionedResponse(webhookResource(await findWebhook(store, request), request.caller, link)),
    }),
    defineEndpoint({
      operationId: 'updateWebhook',
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
      headers: sharedHeaders.ifMatch,
      success,
      handlesValidationErrors: true,
      handle: (request) => updateWebhook(services, request),
    }),
    defineEndpoint({
      operationId: 'deleteWebhook',
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
      method: 'POST',
      access: 'write',
      path: '/api/webhooks/{id}/rotate',
      tag,
      summary: 'Replace the secret',
      description:
        'The old secret also signs for 24 hours. A second rotation drops the oldest secret. Only the client that ' +
        'registered the webhook (of a personal access token, every one of its account) can rotate. The response to a ' +
        'repeated Idempotency-Key contains the secret too.',
      params,
      headers: sharedHeaders.idempotencyKey,
      success: { ...successWithSecret, description: 'The webhook with its new secret.' },
      handle: (request) => rotateWebhookSecret(services, request),
    }),
  ];
}
