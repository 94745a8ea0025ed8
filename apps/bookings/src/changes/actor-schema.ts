// Defines the JSON Schema and the example of `actor`: who made a change.
import { responseSchema } from '../http/schemas.ts';

const nullableString = { type: ['string', 'null'] } as const;

export const actorSchema = {
  ...responseSchema({ clientId: nullableString, subject: nullableString }),
  description: 'Who made the change. Both fields are null if the service itself made it.',
} as const;

export const actorExample = { clientId: 'demo-pat-north', subject: 'acc-bot-north' };
