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
const integer = { type: 'integer' } as const;
const link = { type: 'object', properties: { method: string, href: string } } as const;
const links = { type: 'object', additionalProperties: link } as const;

export const bookingSchema = {
  type: 'object',
  properties: {
    id: string,
    externalBookingId: string,
    correlationId: string,
    bayId: string,
    userAlias: string,
    startDate: string,
    endDate: string,
    createdAt: string,
    lastUpdatedAt: string,
    _links: links,
  },
} as const;

export const listSchema = {
  type: 'object',
  properties: {
    items: { type: 'array', items: bookingSchema },
    _links: links,
    page: integer,
    pageSize: integer,
    pageCount: integer,
    total: integer,
  },
} as const;
