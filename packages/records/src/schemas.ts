// Defines the JSON Schemas of the management APIs that do not depend on the records.
import { responseSchema } from '@bay-booking/common/endpoint';
import { errorEnvelopeSchema } from '@bay-booking/common/errors';

/** An id or a name of a filter. */
export const text = { type: 'string', minLength: 1, maxLength: 256 } as const;

export const dryRunQuery = {
  dryRun: { type: 'boolean', description: 'Whether nothing is written. The response then says what would be done.' },
} as const;

const string = { type: 'string' } as const;
const errors = { ...errorEnvelopeSchema.properties.errors, minItems: 0, description: 'Empty unless action is error.' };

export const dryRunSchema = responseSchema({
  action: { enum: ['create', 'update', 'unchanged', 'delete', 'error'] },
  errors,
});

const row = responseSchema({
  path: { type: 'string', description: 'The JSON Pointer of the record in the body.' },
  action: { enum: ['create', 'update', 'unchanged', 'error'] },
  errors,
});
export const importResultSchema = responseSchema({ entries: { type: 'array', items: row } });

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

/** The type of the result leaves out the filters, which only a service knows. */
export const withFilters = <const Properties extends object>(properties: Properties, filters: object) =>
  ({ type: 'object', properties: { ...filters, ...properties } as Properties }) as const;
