// Handles POST /api/webhooks: registers a webhook and returns its signing secret.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { StoredResponse } from '@bay-booking/service/idempotency/store';
import { type CallerRequest, ownerOf } from '../../auth/caller.ts';
import { badRequest, problemsOf } from '../../errors.ts';
import { createdResponse } from '../../http/response.ts';
import { createWithKey } from '../../idempotency/idempotency.ts';
import { bookingEvents, newSecret, type Webhook } from '../webhook.ts';
import { webhookResource, withSecret } from './resource.ts';
import { findWebhookErrors, type RequestedWebhook } from './schema.ts';
import { creatorOf, type WebhookServices } from './services.ts';

export function registerWebhook(
  services: WebhookServices,
  request: CallerRequest<unknown, RequestedWebhook>,
): Promise<EndpointResponse> {
  const { store, idempotency, secretBox, link } = services;
  const { body, validationErrors, caller } = request;
  // An invalid `facilityIds` is left out of the body, and already has an error.
  const hasFacilityError = validationErrors.some(({ field }) => field === 'facilityIds');
  const facilityIds = hasFacilityError ? undefined : [...new Set(body.facilityIds ?? caller.facilities)];
  const webhookErrors = findWebhookErrors(body.url, facilityIds, caller.facilities, services.outbound);
  const now = services.now();
  const creation = {
    ...request,
    // A repeated request is recognised by the hash of this object.
    body: { webhook: body },
    validationErrors: [...validationErrors, ...webhookErrors],
  };
  return createWithKey(creation, { idempotency, now, readStored }, async (keyed, errors) => {
    if (errors.length > 0) throw badRequest(problemsOf(errors));
    const at = now.toISOString();
    const webhook: Webhook = {
      id: randomUUID(),
      owner: ownerOf(caller),
      createdBy: creatorOf(caller),
      // If there are no errors, `url` and `facilityIds` are defined. Their defaults are only for the type checker.
      url: body.url ?? '',
      events: [...new Set(body.events ?? bookingEvents)],
      facilityIds: facilityIds ?? [],
      description: body.description ?? null,
      state: 'active',
      pausedBecause: null,
      failingSince: null,
      createdAt: at,
      lastUpdatedAt: at,
    };
    const secret = newSecret();
    const response = withSecret(createdResponse(webhookResource(webhook, caller, link)), secret);
    await store.create(
      webhook,
      secretBox.encrypt(secret, webhook.id),
      caller,
      await services.feed.numberChanges(webhook.facilityIds),
      // The response contains the secret, so the stored response is encrypted.
      keyed && { ...keyed, response: secretBox.encrypt(JSON.stringify(response), keyed.id) },
    );
    services.audit(request, { action: 'webhook.created', facilityIds: webhook.facilityIds, target: webhook.id });
    return response;
  });

  function readStored(stored: StoredResponse, keyId: string): EndpointResponse {
    const response = JSON.parse(secretBox.decrypt(stored.response, keyId)) as EndpointResponse;
    // If the client has lost access to a facility since the first request, it must not see the secret again.
    const { facilityIds: storedIds } = response.body as Webhook;
    if (storedIds.every((facilityId) => caller.facilities.includes(facilityId))) return response;
    throw badRequest(problemsOf([{ field: 'facilityIds', kind: 'invalid', hint: 'must be facilities of the token' }]));
  }
}
