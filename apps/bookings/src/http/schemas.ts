// Defines the JSON Schemas that several resources share (docs/behaviour.md, "Validation").
import { linksSchema } from '@bay-booking/common/links';

export { responseSchema } from '@bay-booking/common/endpoint';

export const dateTimeSchema = { type: 'string', format: 'date-time' } as const;

export const editLinksSchema = linksSchema('self', 'edit', 'delete');

export const noLinksSchema = { type: 'object', additionalProperties: false, description: 'Empty.' } as const;

/** The validation also rejects lone surrogates, which a pattern cannot exclude in every language. */
export function patternWithout(range: string): string {
  return `^[^${range}]*$`;
}

const controlCharacters = '\\u0000-\\u001f\\u007f-\\u009f';

export const textSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  pattern: patternWithout(controlCharacters),
} as const;

const textPattern = new RegExp(textSchema.pattern, 'u');

/** Whether an id in a path is possible. `length` counts a character such as 🏌 twice. */
export function isText(value: string): boolean {
  return (
    value.length > 0 && value.length <= 2 * textSchema.maxLength && value.isWellFormed() && textPattern.test(value)
  );
}

export function idsSchema<const D extends string>(description: D) {
  return { type: 'array', items: textSchema, minItems: 1, maxItems: 500, description } as const;
}
