// Defines the JSON Schemas of webhooks, of their deliveries and of the events that receivers get, with examples.
import { named, namedSchema, responseSchema, type Schema } from '@bay-booking/common/endpoint';
import { linksSchema, type MakeLink } from '@bay-booking/common/links';
import type { DocumentedWebhook } from '@bay-booking/common/openapi';
import { textSchema } from '@bay-booking/common/text';
import { actorExample, actorSchema, dateTimeSchema as dateTime, idsSchema, string } from '../../http/endpoint-parts.ts';
import { listQuerySchema, listSchema } from '../../http/pagination.ts';
import { bookingEvents, deliveryStates, webhookResource, webhookStates } from '../webhook.ts';

const nullable = <const T extends string>(type: T) => [type, 'null'] as const;
export const nullableDateTime = { ...dateTime, type: nullable('string') } as const;

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
export const facilityIds = idsSchema('The facilities whose events are sent; by default those of the token.');
const description = { ...textSchema, description: 'A note of the client.' } as const;

export const createWebhookSchema = {
  title: 'CreateWebhook',
  type: 'object',
  required: ['url'],
  properties: { url, events, facilityIds, description },
} as const;

export const updateWebhookSchema = {
  ...createWebhookSchema,
  title: 'UpdateWebhook',
  properties: {
    ...createWebhookSchema.properties,
    state: {
      type: 'string',
      enum: webhookStates,
      description: 'active also enables a disabled webhook. disabled is allowed only if the webhook is disabled.',
    },
  },
} as const;

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
  _links: named('WebhookLinks', linksSchema('self', 'edit', 'delete', 'rotate', 'ping', 'replay', 'deliveries')),
} as const;

export const webhookSchema = namedSchema('Webhook', webhookFields);

/** The response when a webhook is registered, and when its secret is rotated. */
export const webhookWithSecretSchema = namedSchema('WebhookWithSecret', {
  ...webhookFields,
  url,
  secret: { type: 'string', description: 'Verifies signatures. The service returns it only in this response.' },
});

export const webhookListSchema = named('WebhookList', listSchema(webhookSchema));
export const webhookQuerySchema = listQuerySchema({});

export const replaySchema = {
  title: 'ReplayWebhook',
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

export const replayResultSchema = namedSchema('ReplayResult', {
  events: { type: 'integer', minimum: 0, description: 'The number of events that are sent, at most 10,000.' },
  next: {
    type: nullable('integer'),
    description: 'The number after which the next replay continues; null if nothing is left.',
  },
});

const deliverySchema = namedSchema('Delivery', {
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

export const deliveryListSchema = named('DeliveryList', listSchema(deliverySchema));

export const deliveryQuerySchema = listQuerySchema({
  state: { type: 'string', enum: deliveryStates, description: 'Only deliveries in this state.' },
});

export const webhookBodyExample = {
  url: 'https://partner.example/hooks',
  events: [...bookingEvents],
  description: 'Till in the clubhouse',
};

export const exampleWebhookId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c2a';

export function webhookExample(link: MakeLink) {
  return webhookResource(
    {
      id: exampleWebhookId,
      owner: 'not part of the resource',
      createdBy: 'not part of the resource',
      ...webhookBodyExample,
      facilityIds: ['fac-north'],
      state: 'active',
      pausedBecause: null,
      failingSince: null,
      createdAt: '2026-04-30T18:21:07.123Z',
      lastUpdatedAt: '2026-04-30T18:21:07.123Z',
    },
    { facilities: ['fac-north'] },
    link,
  );
}

export const tag = 'Webhooks';
export const params = { id: { description: 'Webhook ID.', schema: string, example: exampleWebhookId } } as const;

const timestamp = { ...dateTime, description: 'When the change was made.' } as const;

/** `bookingItem` is the schema of a booking in a list. */
function bookingEventSchema(bookingItem: Schema) {
  return namedSchema('BookingEvent', {
    type: { type: 'string', enum: bookingEvents, description: 'What happened.' },
    timestamp,
    data: responseSchema({
      facilityId: { type: 'string', description: 'The facility of the booking.' },
      modified: { type: 'integer', minimum: 1, description: 'The change number, which gives the order of events.' },
      actor: actorSchema,
      booking: bookingItem,
    }),
  });
}

const pingEventSchema = namedSchema('PingEvent', {
  type: { const: 'webhook.ping' },
  timestamp: { ...timestamp, description: 'When the ping was requested.' },
  data: { type: 'object', additionalProperties: false, description: 'Empty.' },
});

const summaries = {
  'booking.created': 'A booking was created, or moved to the facility',
  'booking.updated': 'A booking was changed',
  'booking.deleted': 'A booking was deleted, or moved to another facility',
} as const;

/** `bookingItem` is the schema of a booking in a list. */
export function documentedWebhooks(bookingItem: Schema, bookingExample: object): readonly DocumentedWebhook[] {
  const exampleTime = '2026-04-30T18:21:07.123Z';
  const body = bookingEventSchema(bookingItem);
  return [
    ...bookingEvents.map((name, index) => ({
      name,
      summary: summaries[name],
      description:
        'Changes in quick succession arrive as one event with the latest state; `booking.deleted` has the last state.',
      body,
      bodyExample: {
        type: name,
        timestamp: exampleTime,
        data: { facilityId: 'fac-north', modified: 4711 + index, actor: actorExample, booking: bookingExample },
      },
    })),
    {
      name: 'webhook.ping',
      summary: 'A test event',
      description: 'Sent after `POST /api/webhooks/{id}/ping`.',
      body: pingEventSchema,
      bodyExample: { type: 'webhook.ping', timestamp: exampleTime, data: {} },
    },
  ];
}
