// Defines the JSON Schemas with which `fastify` and `express` validate requests, and `fastify` encodes responses.

const text = { type: 'string', minLength: 1, maxLength: 256 } as const;
const time = { type: 'string', format: 'date-time' } as const;
const optional = { externalBookingId: text, correlationId: text } as const;
const mandatory = { bayId: text, userAlias: text, startDate: time, endDate: time } as const;

export const bodySchema = {
  type: 'object',
  required: Object.keys(mandatory),
  properties: { ...optional, ...mandatory },
} as const;

const string = { type: 'string' } as const;
const objectOf = <const Properties>(properties: Properties) => ({ type: 'object', properties }) as const;
const integer = { type: 'integer' } as const;
const link = objectOf({ method: string, href: string });
const links = { type: 'object', additionalProperties: link } as const;

const bookingFields =
  'id externalBookingId correlationId bayId userAlias startDate endDate createdAt lastUpdatedAt'.split(' ');
export const bookingSchema = objectOf({
  ...Object.fromEntries(bookingFields.map((name) => [name, string])),
  _links: links,
});

export const listSchema = objectOf({
  items: { type: 'array', items: bookingSchema },
  _links: links,
  page: integer,
  pageSize: integer,
  pageCount: integer,
  total: integer,
});
