// Defines the JSON Schemas of the management API. The import defines those of the entries.
import { linksSchema } from '@bay-booking/common/links';
import { listEnvelopeSchema } from '@bay-booking/common/page';
import { importSchema } from '../import/document.ts';
import type { Kind } from '../import/find-store.ts';

export const defaultPageSize = 50;
export const maxPageSize = 1_000;
export const defaultEventLimit = 100;

const id = { type: 'string', minLength: 1, maxLength: 256 } as const;
const text = { type: 'string' } as const;
const nullableText = { type: ['string', 'null'] } as const;
const facilityId = { ...id, description: 'Facility ID.' } as const;
const accountId = { ...id, description: 'Account ID.' } as const;

const page = {
  page: { type: 'integer', minimum: 1, description: 'Page number; 1 if left out.' },
  pageSize: {
    type: 'integer',
    minimum: 1,
    maximum: maxPageSize,
    description: `Page size; ${defaultPageSize} if left out.`,
  },
} as const;

const listQuery = <const Filters extends object>(filters: Filters) =>
  ({ type: 'object', properties: { ...filters, ...page } }) as const;

const { facilities, accounts, clients } = importSchema.properties;
const roleSchema = accounts.items.properties.memberships.items.properties.role;

export const entrySchemas = {
  facility: facilities.items,
  account: accounts.items,
  client: clients.items,
} as const satisfies Record<Kind, object>;

/** In a PUT, the address has the id. */
export const bodySchemas = {
  facility: { ...facilities.items, required: ['name'] },
  account: { ...accounts.items, required: [] },
  client: { ...clients.items, required: [] },
} as const satisfies Record<Kind, object>;

export const listSchemas = {
  facility: listEnvelopeSchema(entrySchemas.facility, maxPageSize),
  account: listEnvelopeSchema(entrySchemas.account, maxPageSize),
  client: listEnvelopeSchema(entrySchemas.client, maxPageSize),
} as const satisfies Record<Kind, object>;

export const listQueries = {
  facility: listQuery({}),
  account: listQuery({
    facilityId: { ...facilityId, description: 'Accounts with a role at this facility.' },
    role: { ...roleSchema, description: 'Accounts with this role, at the facility if one is named.' },
    disabled: { type: 'boolean', description: 'Whether the accounts are disabled.' },
  }),
  client: listQuery({ kind: { ...clients.items.properties.kind, description: 'Kind of client.' }, accountId }),
} as const satisfies Record<Kind, object>;

export const tokenQuery = listQuery({ accountId, facilityId });

const token = {
  type: 'object',
  required: ['client_id', 'name', 'accountId', 'access', 'facilities', 'createdAt', 'lastUsedAt', 'expiresAt'],
  additionalProperties: false,
  properties: {
    client_id: text,
    name: nullableText,
    accountId: text,
    access: clients.items.properties.access,
    facilities: { type: ['array', 'null'], items: text, description: 'Null: all facilities of the account.' },
    createdAt: { type: 'string', format: 'date-time' },
    lastUsedAt: { type: ['string', 'null'], format: 'date-time' },
    expiresAt: { type: ['string', 'null'], format: 'date-time' },
  },
} as const;
export const tokenListSchema = listEnvelopeSchema(token, maxPageSize);

export const rotationSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    overlapHours: {
      type: 'number',
      minimum: 0,
      maximum: 720,
      description: 'How long the old secret works; 24 if left out.',
    },
  },
} as const;

export const newSecretSchema = {
  type: 'object',
  required: ['client_id', 'client_secret'],
  additionalProperties: false,
  properties: { client_id: text, client_secret: { ...text, description: 'Shown once.' } },
} as const;

export const invitationSchema = {
  type: 'object',
  required: ['email'],
  additionalProperties: false,
  properties: { email: { type: 'string', minLength: 1, maxLength: 254 } },
} as const;

export const invitedSchema = {
  type: 'object',
  required: ['facilityId', 'email', 'role'],
  additionalProperties: false,
  properties: { facilityId: text, email: text, role: { enum: ['owner'] } },
} as const;

export const exportQuery = {
  type: 'object',
  properties: {
    credentials: { enum: ['hashed'], description: 'Adds the hashes of passwords and client secrets.' },
  },
} as const;

export const importQuery = {
  type: 'object',
  properties: { dryRun: { type: 'boolean', description: 'Whether nothing is imported.' } },
} as const;

export const importResultSchema = {
  type: 'object',
  required: ['entries'],
  additionalProperties: false,
  properties: {
    entries: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'action', 'errors'],
        additionalProperties: false,
        properties: {
          path: { type: 'string', description: 'The JSON Pointer of the entry in the body.' },
          action: { enum: ['create', 'update', 'unchanged', 'error'] },
          errors: { type: 'array', items: { type: 'object' }, description: 'Empty unless the action is error.' },
        },
      },
    },
  },
} as const;

export const eventQuery = {
  type: 'object',
  properties: {
    after: { type: 'integer', minimum: 0, description: 'Returns the events after this number; 0 if left out.' },
    facilityId,
    account: { ...id, description: 'The id or user name of an account.' },
    action: { ...id, description: 'Such as account.changed.' },
    pageSize: { ...page.pageSize, description: `Maximum number of items; ${defaultEventLimit} if left out.` },
  },
} as const;

export const eventListSchema = {
  type: 'object',
  required: ['items', 'last', '_links'],
  additionalProperties: false,
  properties: {
    items: {
      type: 'array',
      items: {
        type: 'object',
        required: ['number', 'at', 'action', 'actor', 'facilityId', 'target', 'changed'],
        additionalProperties: false,
        properties: {
          number: { type: 'integer' },
          at: { type: 'string', format: 'date-time' },
          action: text,
          actor: {
            type: 'object',
            required: ['clientId'],
            additionalProperties: false,
            properties: { clientId: { ...text, description: 'The client, or import for the command.' } },
          },
          facilityId: nullableText,
          target: { ...text, description: 'The path of the resource, such as facilities/fac-north.' },
          changed: { type: 'array', items: text, description: 'The names of the fields that changed.' },
        },
      },
    },
    last: { type: 'integer', description: 'The number of the last item, or the value of after without one.' },
    _links: linksSchema('self', 'next'),
  },
} as const;
