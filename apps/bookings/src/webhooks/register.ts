// Handles POST /api/webhooks: registers a webhook and returns its signing secret.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { ValidationError } from '@bay-booking/common/validation';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { Caller } from '../auth/caller.ts';
import { findKeyErrors, keyedRequest, markReplayed } from '../bookings/idempotency.ts';
import type { IdempotencyStore, KeyedRequest } from '../bookings/storage/idempotency-store.ts';
import { apiError, badRequest, problemsOf, unavailable } from '../errors.ts';
import { webhookPath, webhookResponse } from './resource.ts';
import { newSecret, type SecretBox } from './secrets.ts';
import type { LatestNumbers, WebhookStore } from './store.ts';
import { findWebhookErrors, type RequestedWebhook } from './validation.ts';
import { bookingEvents, type Webhook } from './webhook.ts';

export interface RegistrationServices {
  readonly store: Pick<WebhookStore, 'create'>;
  readonly idempotency: Pick<IdempotencyStore, 'find'>;
  readonly secretBox: SecretBox;
  readonly client: Pick<OutboundClient, 'urlError'>;
  readonly findLatestNumbers: (facilities: readonly string[]) => Promise<LatestNumbers>;
  readonly link: MakeLink;
  readonly now: () => Date;
}

export interface RegistrationRequest {
  readonly body: RequestedWebhook;
  readonly validationErrors: readonly ValidationError[];
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
}

export function createRegistration(services: RegistrationServices) {
  const { store, idempotency, secretBox, client, findLatestNumbers, link, now: clock } = services;

  return async (request: RegistrationRequest): Promise<EndpointResponse> => {
    const { body, caller, idempotencyKey } = request;
    const keyErrors = findKeyErrors(idempotencyKey);
    const hasFacilityError = request.validationErrors.some(({ field }) => field === 'facilityIds');
    const facilityIds = hasFacilityError ? undefined : [...new Set(body.facilityIds ?? caller.facilities)];
    const validationErrors = [
      ...request.validationErrors,
      ...keyErrors,
      ...findWebhookErrors(body.url, facilityIds, caller.facilities, client),
    ];
    const keyed =
      idempotencyKey === undefined || keyErrors.length > 0
        ? undefined
        : keyedRequest(idempotencyKey, caller, validationErrors.length === 0 ? { webhook: body } : undefined);
    const now = clock();
    const findStored = async () => keyed && findStoredResponse(keyed, caller, now);

    const stored = await findStored();
    if (stored) return stored;
    if (validationErrors.length > 0) throw badRequest(problemsOf(validationErrors));
    const { url = '', events = bookingEvents, description = null } = body;
    const webhook: Webhook = {
      id: randomUUID(),
      clientId: caller.clientId,
      url,
      events: [...new Set(events)],
      facilityIds: facilityIds ?? [],
      description,
      state: 'active',
      failingSince: null,
      createdAt: now.toISOString(),
      lastUpdatedAt: now.toISOString(),
    };
    const secret = newSecret();
    const { headers, ...created } = webhookResponse(201, webhook, link, secret);
    const response = { ...created, headers: { ...headers, Location: link('GET', webhookPath(webhook)).href } };
    const outcome = await store.create(
      { ...webhook, encryptedSecret: secretBox.encrypt(secret, webhook.id) },
      await findLatestNumbers(webhook.facilityIds),
      // The response contains the secret, so the stored response is encrypted.
      keyed && { ...keyed, response: secretBox.encrypt(JSON.stringify(response), keyed.id) },
    );
    if (outcome === 'created') return response;
    if (outcome === 'too many') throw apiError('HOOK00001');
    if (outcome === 'key in progress') throw apiError('ERR00409', { headers: { 'Retry-After': '1' } });
    const first = await findStored();
    if (first) return first;
    throw unavailable(new Error('a stored response was deleted while it was looked up'));
  };

  /**
   * Returns the response to an earlier request with the same key, or undefined if there is none.
   *
   * @throws {ApiError} 422 if the earlier request had another body; 400 if the token lacks a facility of the webhook
   */
  async function findStoredResponse(
    { id, requestHash }: KeyedRequest,
    { facilities }: Caller,
    now: Date,
  ): Promise<EndpointResponse | undefined> {
    const stored = await idempotency.find(id, now);
    if (!stored) return undefined;
    if (stored.requestHash !== requestHash) throw apiError('ERR00422');
    const response = JSON.parse(secretBox.decrypt(stored.response, id)) as EndpointResponse;
    // If the client has lost access to a facility since the first request, it must not see the secret again.
    const { facilityIds } = response.body as Webhook;
    if (facilityIds.every((facilityId) => facilities.includes(facilityId))) return markReplayed(response);
    throw badRequest(problemsOf([{ field: 'facilityIds', kind: 'invalid', hint: 'must be facilities of the token' }]));
  }
}
