// Defines the JSON Schemas of webhooks, of their deliveries, and of the requests that create and change them.
import { linksSchema } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import type { ValidationError } from '@bay-booking/common/validation';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { FromSchema } from 'json-schema-to-ts';
import { defaultPageSizes, listQuerySchema, listSchema } from '../../http/pagination.ts';
import { dateTimeSchema as dateTime, idsSchema, responseSchema } from '../../http/schemas.ts';
import { bookingEvents, deliveryStates, webhookStates } from '../webhook.ts';

const nullable = <const T extends string>(type: T) => [type, 'null'] as const;
const nullableDateTime = { ...dateTime, type: nullable('string') } as const;

const url = {
  type: 'string',
  format: 'uri',
  minLength: 1,
  maxLength: 2048,
  // No spaces and no control characters.
  pattern: '^[^\\u0000-\\u0020\\u007f-\\u009f]*$',
  description: 'The address of the receiver: https, without user information, at a public address.',
} as const;
const events = {
  type: 'array',
  items: { type: 'string', enum: bookingEvents },
  minItems: 1,
  maxItems: 100,
  description: 'The events to send; all of them by default.',
} as const;
const facilityIds = idsSchema('The facilities whose events are sent; by default those of the token.');
const description = { ...textSchema, description: 'A note of the client.' } as const;

export const createWebhookSchema = {
  type: 'object',
  required: ['url'],
  properties: { url, events, facilityIds, description },
} as const;

export const updateWebhookSchema = {
  ...createWebhookSchema,
  properties: {
    ...createWebhookSchema.properties,
    state: { type: 'string', enum: ['active', 'paused'], description: 'active also enables a disabled webhook.' },
  },
} as const;

export const replaySchema = {
  type: 'object',
  required: ['facilityId', 'afterChangeNumber'],
  properties: {
    facilityId: { ...textSchema, description: 'One of the facilities of the webhook.' },
    afterChangeNumber: {
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Changes after this number are sent again. Take the number from `modified` of an event or of the change feed.',
    },
  },
} as const;

export const replayResultSchema = responseSchema({
  events: { type: 'integer', minimum: 0, description: 'The number of events that are sent, at most 10,000.' },
  next: {
    type: nullable('integer'),
    description: 'The number after which the next replay continues; null if nothing is left.',
  },
});

const facilityWebhookSchema = responseSchema({
  id: { type: 'string', description: 'Webhook ID.' },
  url: { type: 'string', format: 'uri', description: 'The URL of the receiver.' },
  owner: { type: 'string', description: 'The `sub` of the tokens that can change the webhook.' },
  clientId: { type: 'string', description: 'The client that created the webhook, or changed it last.' },
  facilityIds: { ...facilityIds, description: 'The facilities of the webhook, as far as the token names them.' },
  state: { type: 'string', enum: webhookStates, description: 'Only an active webhook gets events.' },
  lastSuccessAt: { ...nullableDateTime, description: 'The last successful delivery, to the minute; null before.' },
  createdAt: { ...dateTime, description: 'Creation timestamp, UTC.' },
});

export const facilityWebhookListSchema = listSchema(facilityWebhookSchema);

const webhookFields = {
  id: { type: 'string', description: 'Webhook ID.' },
  url: {
    type: nullable('string'),
    format: 'uri',
    description: 'The URL of the receiver; null if the token lacks a facility of the webhook.',
  },
  events,
  facilityIds: { ...facilityIds, description: 'The facilities whose events are sent, as far as the token names them.' },
  description: { type: nullable('string'), description: 'A note of the client.' },
  state: {
    type: 'string',
    enum: webhookStates,
    description: 'The service disables a webhook after 5 days with only failures, or after a 410 response.',
  },
  pausedBecause: { type: nullable('string'), description: 'Why the service paused the webhook; null if it did not.' },
  failingSince: { ...nullableDateTime, description: 'The first failed attempt since the last successful one.' },
  createdAt: { ...dateTime, description: 'Creation timestamp, UTC.' },
  lastUpdatedAt: { ...dateTime, description: 'Last modification timestamp, UTC.' },
  _links: linksSchema('self', 'edit', 'delete', 'rotate', 'ping', 'replay', 'deliveries'),
} as const;

export const webhookSchema = responseSchema(webhookFields);

/** The response when a webhook is registered, and when its secret is rotated. */
export const webhookWithSecretSchema = responseSchema({
  ...webhookFields,
  url,
  secret: { type: 'string', description: 'Verifies signatures. The service returns it only in this response.' },
});

export const webhookListSchema = listSchema(webhookSchema);
export const webhookQuerySchema = listQuerySchema({}, defaultPageSizes.webhooks);

const deliverySchema = responseSchema({
  id: { type: 'string', description: 'The webhook-id of the delivery.' },
  type: { type: 'string', enum: [...bookingEvents, 'webhook.ping'], description: 'The event.' },
  facilityId: { type: nullable('string'), description: 'The facility of the booking; null for a ping.' },
  bookingId: {
    type: nullable('string'),
    description: 'Booking ID; null for a ping.',
  },
  modified: { type: nullable('integer'), description: 'The number of the change; null for a ping.' },
  state: { type: 'string', enum: deliveryStates, description: 'pending until the last attempt has ended.' },
  attempts: { type: 'integer', minimum: 0, description: 'The number of attempts.' },
  lastStatus: {
    type: nullable('integer'),
    description: 'The status of the last response; null if there was no response.',
  },
  lastError: {
    type: nullable('string'),
    description:
      'Why there was no response, such as `timeout`, `connection refused` or `address not allowed`; else null.',
  },
  lastAttemptAt: { ...nullableDateTime, description: 'The time of the last attempt.' },
  nextAttemptAt: { ...nullableDateTime, description: 'The time of the next attempt; null if there is none.' },
});

export const deliveryListSchema = listSchema(deliverySchema);

export const deliveryQuerySchema = listQuerySchema(
  {
    state: { type: 'string', enum: deliveryStates, description: 'Only deliveries in this state.' },
  },
  defaultPageSizes.deliveries,
);

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const webhookComponents = {
  Webhook: webhookSchema,
  WebhookWithSecret: webhookWithSecretSchema,
  WebhookList: webhookListSchema,
  CreateWebhook: createWebhookSchema,
  UpdateWebhook: updateWebhookSchema,
  ReplayWebhook: replaySchema,
  ReplayResult: replayResultSchema,
  FacilityWebhookList: facilityWebhookListSchema,
  DeliveryList: deliveryListSchema,
  Delivery: deliverySchema,
} as const;

/** Invalid fields are left out. */
export type RequestedWebhook = Partial<FromSchema<typeof createWebhookSchema>>;

/**
 * `url` is undefined if the field is invalid, or if an update has no such field.
 *
 * `facilityIds` is the field of the request. If a registration has no such field, `facilityIds` are the facilities of
 * the token. Undefined if the field is invalid, or if an update has no such field.
 */
export function findWebhookErrors(
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
