// Handles POST /api/webhooks: registers a webhook and returns its signing secret.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { SecretBox } from '@bay-booking/service/secret-box';
import type { Caller } from '../../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../../errors.ts';
import { createdResponse } from '../../http/etag.ts';
import type { SharedServices } from '../../http/shared-services.ts';
import { createOnce } from '../../idempotency/idempotency.ts';
import type { IdempotencyStore, StoredResponse } from '../../idempotency/store.ts';
import { bookingEvents, newSecret, type Webhook } from '../webhook.ts';
import { webhookResource, withSecret } from './resource.ts';
import type { LatestNumbers, WebhookStore } from './store.ts';
import { findWebhookErrors, type RequestedWebhook } from './validation.ts';

export interface RegistrationServices extends SharedServices {
  readonly store: Pick<WebhookStore, 'create'>;
  readonly idempotency: Pick<IdempotencyStore, 'find'>;
  readonly secretBox: SecretBox;
  readonly outbound: Pick<OutboundClient, 'urlError'>;
  readonly findLatestNumbers: (facilities: readonly string[]) => Promise<LatestNumbers>;
}

export interface RegistrationRequest {
  readonly body: RequestedWebhook;
  readonly validationErrors: readonly ValidationError[];
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
}

export function createRegistration(services: RegistrationServices) {
  const { store, idempotency, secretBox, outbound, findLatestNumbers, link, now: clock } = services;

  return async (request: RegistrationRequest): Promise<EndpointResponse> => {
    const { body, caller, idempotencyKey } = request;
    // If `facilityIds` is invalid, `validationErrors` already contains its error, so the facilities are not checked
    // again.
    const hasFacilityError = request.validationErrors.some(({ field }) => field === 'facilityIds');
    const facilityIds = hasFacilityError ? undefined : [...new Set(body.facilityIds ?? caller.facilities)];
    const webhookErrors = findWebhookErrors(body.url, facilityIds, caller.facilities, outbound);
    const now = clock();
    const creation = {
      idempotencyKey,
      caller,
      // A repeated request is recognised by the hash of this object, and an older release may have stored the hash. The
      // form of this object must therefore never change.
      body: { webhook: body },
      validationErrors: [...request.validationErrors, ...webhookErrors],
      now,
      readStored: (stored: StoredResponse, keyId: string) => readRegistration(stored, keyId, caller),
    };
    // `keyed` contains the hashes of a valid idempotency key and of the request. `errors` are all validation errors,
    // including those of an invalid key.
    return createOnce(creation, idempotency, async (keyed, errors) => {
      if (errors.length > 0) throw badRequest(problemsOf(errors));
      const webhook = newWebhook(body, facilityIds ?? [], { clientId: caller.clientId, at: now.toISOString() });
      const secret = newSecret();
      const response = withSecret(createdResponse(webhookResource(webhook, link)), secret);
      const outcome = await store.create(
        { ...webhook, encryptedSecret: secretBox.encrypt(secret, webhook.id) },
        await findLatestNumbers(webhook.facilityIds),
        // The response contains the secret, so the stored response is encrypted.
        keyed && { ...keyed, response: secretBox.encrypt(JSON.stringify(response), keyed.id) },
      );
      if (outcome === 'too many') throw apiError('HOOK00001');
      // Any other outcome means that a request with the same idempotency key was first. `createOnce`, which calls this
      // function, handles the outcome.
      return outcome === 'created' ? response : outcome;
    });
  };

  /**
   * Decrypts a stored response.
   * @throws {ApiError} 400 if the token lacks a facility of the webhook
   */
  function readRegistration(stored: StoredResponse, keyId: string, { facilities }: Caller): EndpointResponse {
    const response = JSON.parse(secretBox.decrypt(stored.response, keyId)) as EndpointResponse;
    // If the client has lost access to a facility since the first request, it must not see the secret again.
    const { facilityIds } = response.body as Webhook;
    if (facilityIds.every((facilityId) => facilities.includes(facilityId))) return response;
    throw badRequest(problemsOf([{ field: 'facilityIds', kind: 'invalid', hint: 'must be facilities of the token' }]));
  }
}

/** The caller has validated the request, so `url` is present. */
function newWebhook(
  { url = '', events = bookingEvents, description }: RequestedWebhook,
  facilityIds: readonly string[],
  { clientId, at }: { readonly clientId: string; readonly at: string },
): Webhook {
  return {
    id: randomUUID(),
    clientId,
    url,
    events: [...new Set(events)],
    facilityIds,
    description: description ?? null,
    state: 'active',
    failingSince: null,
    createdAt: at,
    lastUpdatedAt: at,
  };
}
