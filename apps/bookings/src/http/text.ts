// Defines which strings requests may contain: 1 to 256 characters, without control characters and without lone
// surrogates (docs/behaviour.md, "Validation").

/**
 * A JSON Schema pattern for text without lone surrogates and without the characters of a range such as
 * `\\u0000-\\u001f`. Clients compile a pattern with or without the flag `u` of regular expressions. This pattern means
 * the same in both cases: with `u`, its first part matches every character; without, its second part matches the two
 * code units of a character such as 🏌.
 */
export function patternWithout(range: string): string {
  return `^(?:[^${range}\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$`;
}

const controlCharacters = '\\u0000-\\u001f\\u007f-\\u009f';

export const textSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  pattern: patternWithout(controlCharacters),
} as const;

const textPattern = new RegExp(textSchema.pattern);

/**
 * Whether an id in the path of a request can be the id of a resource. `length` counts a character such as 🏌 twice.
 * The length of an id can therefore be twice its number of characters.
 */
export function isText(value: string): boolean {
  return value.length > 0 && value.length <= 2 * textSchema.maxLength && textPattern.test(value);
}

export function idsSchema<const D extends string>(description: D) {
  return { type: 'array', items: textSchema, minItems: 1, maxItems: 500, description } as const;
}
