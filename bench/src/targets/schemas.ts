// Defines the JSON Schemas of request and response bodies for peers, the servers with which the service is compared.
// The peers `fastify` and `express` validate request bodies, and `fastify` also encodes responses.

const text = { type: 'string', minLength: 1, maxLength: 256 } as const;
const time = { type: 'string', format: 'date-time' } as const;

export const bodySchema = {
  type: 'object',
  required: ['bayId', 'userAlias', 'startDate', 'endDate'],
  properties: {
    externalBookingId: text,
    correlationId: text,
    bayId: text,
    userAlias: text,
    startDate: time,
    endDate: time,
  },
} as const;

const link = { type: 'object', properties: { method: { type: 'string' }, href: { type: 'string' } } } as const;
const links = { type: 'object', additionalProperties: link } as const;
const string = { type: 'string' } as const;

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

const integer = { type: 'integer' } as const;

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
