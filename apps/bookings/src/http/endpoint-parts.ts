// Defines what the descriptions of several endpoints share: headers, responses and fields.
import { endpointDefiner, responseSchema, type Schema, type SuccessDescription } from '@bay-booking/common/endpoint';
import { linksSchema, type MakeLink } from '@bay-booking/common/links';
import { anyText, textSchema } from '@bay-booking/common/text';
import type { Idempotency } from '@bay-booking/service/idempotency';
import type { AuditLog } from '../audit-log.ts';
import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config.ts';

export const defineEndpoint = endpointDefiner<Caller>();

/** What the endpoints of every subject may use, besides the stores that they name. */
export interface EndpointServices {
  readonly config: Config;
  readonly link: MakeLink;
  readonly audit: AuditLog;
  readonly now: () => Date;
  readonly idempotency: Idempotency;
}

export const string = { type: 'string' } as const;

export const dateTimeSchema = { type: 'string', format: 'date-time' } as const;

/** Allows every string: one that cannot be an id gets ERR00012, like any other id that does not exist. */
export const bayIdSchema = { type: 'string', [anyText]: true } as const;

export const editLinksSchema = linksSchema('self', 'edit', 'delete');

export const noLinksSchema = { type: 'object', additionalProperties: false, description: 'Empty.' } as const;

export function idsSchema<const D extends string>(description: D) {
  return { type: 'array', items: textSchema, minItems: 1, maxItems: 500, description } as const;
}

const etag = { ETag: { description: 'The version of the resource (RFC 9110).', schema: string } } as const;
const location = {
  Location: { description: 'The address of the new resource.', schema: { type: 'string', format: 'uri' } },
} as const;

/** The headers of requests and responses. */
export const sharedHeaders = {
  idempotencyKey: {
    'Idempotency-Key': {
      description:
        'Makes it safe to repeat the request. For 24 hours, a request with the same key and body gets the same ' +
        'response with Idempotency-Replayed: true, and a request with the same key and another body gets 422.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    },
  },
  ifMatch: {
    'If-Match': { description: 'The request fails with 412 unless the ETag is one of these.', schema: string },
  },
  ifNoneMatch: { 'If-None-Match': { description: 'The response is 304 if the ETag is one of these.', schema: string } },
  etag,
  location,
  creation: { ...etag, ...location },
} as const;

/** `name` is that of the resource, such as `booking`. */
export const itemSuccess = <Example>(name: string, schema: Schema, example: Example) => ({
  status: 200,
  description: `The ${name}.`,
  schema,
  example,
  headers: sharedHeaders.etag,
});

const linkHeader = { Link: { description: 'The links of the list (RFC 8288).', schema: string } } as const;

/** `items` names what the list contains, such as `bookings`. */
export function pageSuccess(items: string, schema: Schema, example: unknown): SuccessDescription {
  return { status: 200, description: `A page of ${items}.`, schema, example, headers: linkHeader };
}

export const deletionParts = {
  headers: sharedHeaders.ifMatch,
  success: { status: 204, description: 'Deleted.' },
} as const;

const nullableString = { type: ['string', 'null'] } as const;

export const actorSchema = {
  title: 'Actor',
  ...responseSchema({ clientId: nullableString, subject: nullableString }),
  description: 'Who made the change. Both fields are null if the service itself made it.',
} as const;

export const actorExample = { clientId: 'demo-pat-north', subject: 'acc-bot-north' };
