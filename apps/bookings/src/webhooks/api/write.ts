// Registers, updates and deletes webhooks and rotates their secrets, or reports why that is not possible.
import { randomUUID } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import { type KeyedRequest, keyedRequest, type StoredResponse } from '@bay-booking/service/idempotency';
import type { OutboundClient } from '@bay-booking/service/outbound';
import type { SecretBox } from '@bay-booking/service/secret-box';
import type { FromSchema } from 'json-schema-to-ts';
import { type Caller, type CallerRequest, ownerOf } from '../../auth/caller.ts';
import type { FeedStore } from '../../changes/feed/store.ts';
import { apiError, badRequest, problemsOf } from '../../errors.ts';
import type { EndpointServices } from '../../http/endpoint-parts.ts';
import { checkResourceEtag, createdResponse, versionedResponse } from '../../http/response.ts';
import { bookingEvents, namesAllFacilities, newSecret, type Webhook, webhookResource, withSecret } from '../webhook.ts';
import { creatorOf, expectAllFacilities, expectCreator, findWebhook } from './access.ts';
import type { createWebhookSchema } from './schema.ts';
import type { WebhookStore } from './store.ts';

/** How long the previous secret also signs deliveries after a rotation. */
const previousSecretMilliseconds = 24 * 3_600_000;

export interface WriteWebhookServices extends EndpointServices {
  readonly store: WebhookStore;
  readonly feed: Pick<FeedStore, 'numberChanges'>;
  readonly secretBox: SecretBox;
  readonly outbound: Pick<OutboundClient, 'urlError'>;
  /** Makes the worker look for deliveries immediately. */
  readonly wakeWorker: () => void;
}

/** Invalid fields are left out. */
type RequestedWebhook = Partial<FromSchema<typeof createWebhookSchema>>;

export function registerWebhook(services: WriteWebhookServices, request: CallerRequest<unknown, RequestedWebhook>) {
  const { store, idempotency, secretBox, link } = services;
  const { body, validationErrors, caller } = request;
  // An invalid `facilityIds` is left out of the body, and already has an error.
  const hasFacilityError = validationErrors.some(({ field }) => field === 'facilityIds');
  const facilityIds = hasFacilityError ? undefined : [...new Set(body.facilityIds ?? caller.facilities)];
  const webhookErrors = findWebhookErrors(body.url, facilityIds, caller.facilities, services.outbound);
  const now = services.now();
  const errors = [...validationErrors, ...webhookErrors];
  // A repeated request is recognised by the hash of this body.
  const keyed = keyedRequest({ ...request, body: { webhook: body }, validationErrors: errors });
  return idempotency.once(keyed, { now, readStored: createReadStored(secretBox, caller) }, async () => {
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
      encryptedResponse(secretBox, keyed, response),
    );
    services.audit(request, { action: 'webhook.created', facilityIds: webhook.facilityIds, target: webhook.id });
    return response;
  });
}

const createReadStored =
  (secretBox: SecretBox, caller: Caller) =>
  (stored: StoredResponse, keyId: string): EndpointResponse => {
    const response = JSON.parse(secretBox.decrypt(stored.response, keyId)) as EndpointResponse;
    // If the client has lost access to a facility since the first request, it must not see the secret again.
    const { facilityIds } = response.body as Webhook;
    if (facilityIds.every((facilityId) => caller.facilities.includes(facilityId))) return response;
    throw badRequest(problemsOf([{ field: 'facilityIds', kind: 'invalid', hint: 'must be facilities of the token' }]));
  };

/** The response contains the secret, so the stored response is encrypted. */
const encryptedResponse = (secretBox: SecretBox, keyed: KeyedRequest | undefined, response: EndpointResponse) =>
  keyed && { ...keyed, response: secretBox.encrypt(JSON.stringify(response), keyed.id) };

/**
 * `url` is undefined if the field is invalid, or if an update has no such field.
 *
 * `facilityIds` is the field of the request. If a registration has no such field, `facilityIds` are the facilities of
 * the token. Undefined if the field is invalid, or if an update has no such field.
 */
function findWebhookErrors(
  url: string | undefined,
  facilityIds: readonly string[] | undefined,
  facilitiesOfToken: readonly string[],
  outbound: Pick<OutboundClient, 'urlError'>,
): readonly ValidationError[] {
  const errors: ValidationError[] = [];
  const urlError = url === undefined ? undefined : outbound.urlError(url);
  if (urlError !== undefined) errors.push({ field: 'url', kind: 'invalid', hint: urlError });
  // The schema does not allow an empty list in the request. An empty list therefore comes from the token.
  if (facilityIds?.length === 0)
    errors.push({ field: 'facilityIds', kind: 'invalid', hint: 'the token names no facility' });
  if (facilityIds?.some((id) => !facilitiesOfToken.includes(id)))
    errors.push({ field: 'facilityIds', kind: 'invalid', hint: 'must be facilities of the token' });
  return errors;
}

export async function updateWebhook(
  services: WriteWebhookServices,
  request: CallerRequest<unknown, RequestedWebhook & Partial<Pick<Webhook, 'state'>>>,
): Promise<EndpointResponse> {
  const { baseUrl } = services.config;
  const { body, caller } = request;
  const webhook = await findWebhook(services.store, request);
  const checkRights = (before: Webhook): void => {
    expectAllFacilities(before, caller, baseUrl);
    if (body.url !== undefined && body.url !== before.url) expectCreator(before, caller, baseUrl);
  };
  checkRights(webhook);
  const errors = [
    ...request.validationErrors,
    ...findWebhookErrors(body.url, body.facilityIds, caller.facilities, services.outbound),
  ];
  if (body.state === 'disabled' && webhook.state !== 'disabled')
    errors.push({ field: 'state', kind: 'invalid', hint: 'must be one of active, paused' });
  if (errors.length > 0) throw badRequest(problemsOf(errors));
  const change = {
    url: body.url,
    events: body.events && [...new Set(body.events)],
    facilityIds: body.facilityIds && [...new Set(body.facilityIds)],
    description: body.description,
    // The client may send back what GET returned. A webhook is also `paused` while its facility is disabled.
    state: body.state === webhook.state ? undefined : body.state,
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
  return versionedResponse(webhookResource(updated, caller, services.link));
}

/** Removes the facilities of the token from the webhook, which deletes a webhook that keeps none. */
export async function deleteWebhook(services: WriteWebhookServices, request: CallerRequest): Promise<EndpointResponse> {
  const { id } = await findWebhook(services.store, request);
  const { facilities } = request.caller;
  const before = await services.store.removeFacilities(id, facilities, ifMatchCheck(services, request));
  const facilityIds = before?.facilityIds.filter((facilityId) => facilities.includes(facilityId)) ?? [];
  if (!before || facilityIds.length === 0) throw apiError('ERR00404');
  const action = namesAllFacilities(request.caller, before) ? 'webhook.deleted' : 'webhook.facility-removed';
  services.audit(request, { action, facilityIds, target: id });
  return { status: 204 };
}

export async function rotateWebhookSecret(services: WriteWebhookServices, request: CallerRequest) {
  const { store, idempotency, secretBox, link, config } = services;
  const { caller } = request;
  const webhook = await findWebhook(store, request);
  expectAllFacilities(webhook, caller, config.baseUrl);
  expectCreator(webhook, caller, config.baseUrl);
  const now = services.now();
  const keyed = keyedRequest(request);
  return idempotency.once(keyed, { now, readStored: createReadStored(secretBox, caller) }, async () => {
    const secret = newSecret();
    const rotated = { ...webhook, lastUpdatedAt: now.toISOString() };
    const response = withSecret(versionedResponse(webhookResource(rotated, caller, link)), secret);
    await store.rotate(
      rotated,
      // The encrypted secret can be decrypted only for the webhook with this id.
      secretBox.encrypt(secret, webhook.id),
      caller,
      new Date(now.getTime() + previousSecretMilliseconds),
      encryptedResponse(secretBox, keyed, response),
    );
    const { facilityIds, id } = webhook;
    services.audit(request, { action: 'webhook.secret-rotated', facilityIds, target: id });
    return response;
  });
}

/** Returns the function that checks If-Match when the store has locked the webhook. */
function ifMatchCheck({ link }: WriteWebhookServices, { header, caller }: CallerRequest): (webhook: Webhook) => void {
  return (webhook) => checkResourceEtag(header('if-match'), webhookResource(webhook, caller, link));
}
