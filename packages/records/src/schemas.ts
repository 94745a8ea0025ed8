// Defines the JSON Schemas of the management APIs that do not depend on the records.

/** An id or a name of a filter. */
export const text = { type: 'string', minLength: 1, maxLength: 256 } as const;

export const defaultPageSize = 50;
export const maxPageSize = 1_000;

export const pageQuery = {
  page: { type: 'integer', minimum: 1, description: 'Page to return, from 1; 1 if left out.' },
  pageSize: {
    type: 'integer',
    minimum: 1,
    maximum: maxPageSize,
    description: `Size of each page; ${defaultPageSize} if left out.`,
  },
} as const;

export const dryRunQuery = {
  dryRun: { type: 'boolean', description: 'Whether nothing is written. The response then says what would be done.' },
} as const;

const string = { type: 'string' } as const;
const errors = {
  type: 'array',
  description: 'Empty unless the action is error.',
  items: {
    type: 'object',
    required: ['code', 'description', 'moreInfo', 'contextData'],
    properties: { code: string, description: string, moreInfo: string, contextData: { type: 'object' } },
  },
} as const;

export const dryRunSchema = {
  type: 'object',
  required: ['action', 'errors'],
  properties: { action: { enum: ['create', 'update', 'unchanged', 'delete', 'error'] }, errors },
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
          path: { type: 'string', description: 'The JSON Pointer of the record in the body.' },
          action: { enum: ['create', 'update', 'unchanged', 'error'] },
          errors,
        },
      },
    },
  },
} as const;

export const idempotencyKeyHeader = {
  'Idempotency-Key': {
    description:
      'Makes it safe to repeat the request. For 24 hours, the same request with the same key gets the same response, ' +
      'and another request with the same key gets 422.',
    schema: string,
  },
} as const;

export const ifMatchHeader = {
  'If-Match': { description: 'The request fails with 412 unless the ETag is one of these.', schema: string },
} as const;

export const ifNoneMatchHeader = {
  'If-None-Match': { description: 'With *, the request fails with 412 if the record exists.', schema: string },
} as const;

export const etagHeader = {
  ETag: { description: 'Changes with the record and its secrets.', schema: string },
} as const;
