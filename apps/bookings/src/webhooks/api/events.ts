// Describes the requests that receivers get, for the OpenAPI document.
import type { Schema } from '@bay-booking/common/endpoint';
import type { DocumentedWebhook } from '@bay-booking/common/openapi';
import { actorExample, actorSchema } from '../../http/endpoint-parts.ts';
import { dateTimeSchema, responseSchema } from '../../http/schemas.ts';
import { bookingEvents } from '../webhook.ts';

const timestamp = { ...dateTimeSchema, description: 'When the change was made.' } as const;

/** `bookingItem` is the schema of a booking in a list. */
export function bookingEventSchema(bookingItem: Schema) {
  return responseSchema({
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

export const pingEventSchema = responseSchema({
  type: { const: 'webhook.ping' },
  timestamp: { ...timestamp, description: 'When the ping was requested.' },
  data: { type: 'object', additionalProperties: false, description: 'Empty.' },
});

const summaries = {
  'booking.created': 'A booking was created, or moved to the facility',
  'booking.updated': 'A booking was changed',
  'booking.deleted': 'A booking was deleted, or moved to another facility',
} as const;

export function documentedWebhooks(bookingEvent: Schema, bookingExample: object): readonly DocumentedWebhook[] {
  const exampleTime = '2026-04-30T18:21:07.123Z';
  return [
    ...bookingEvents.map((name, index) => ({
      name,
      summary: summaries[name],
      description:
        'Changes in quick succession arrive as one event with the latest state; `booking.deleted` has the last state.',
      body: bookingEvent,
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
