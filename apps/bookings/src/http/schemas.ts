// Defines the JSON Schemas that several resources share (docs/behaviour.md, "Validation").
import { linksSchema } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';

export { responseSchema } from '@bay-booking/common/endpoint';

export const dateTimeSchema = { type: 'string', format: 'date-time' } as const;

export const editLinksSchema = linksSchema('self', 'edit', 'delete');

export const noLinksSchema = { type: 'object', additionalProperties: false, description: 'Empty.' } as const;

export function idsSchema<const D extends string>(description: D) {
  return { type: 'array', items: textSchema, minItems: 1, maxItems: 500, description } as const;
}
