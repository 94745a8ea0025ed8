// Defines the JSON Schemas that several resources share.
import { linksSchema } from '@bay-booking/common/links';

export const dateTimeSchema = { type: 'string', format: 'date-time' } as const;

/** The object `_links` of a resource that clients can edit and delete. */
export const editLinksSchema = linksSchema('self', 'edit', 'delete');

/** The empty object `_links` of a resource without links. */
export const noLinksSchema = { type: 'object', additionalProperties: false, description: 'Empty.' } as const;

/** Returns the schema of an object in a response. Only the properties in `optional` can be left out. */
export function responseSchema<const Properties extends object>(
  properties: Properties,
  optional: readonly (keyof Properties)[] = [],
) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name as keyof Properties));
  return { type: 'object', required, additionalProperties: false, properties } as const;
}
