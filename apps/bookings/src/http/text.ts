// The strings that requests may contain: ids, names and aliases of 1 to 256 characters without control characters
// (docs/behaviour.md, "Validation").

export const textSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  pattern: '^[^\\p{Cc}\\p{Cs}]*$',
} as const;

const allowed = /^[^\p{Cc}\p{Cs}]{1,512}$/u;

/** Whether an id in a path can exist. A request with any other id gets 404 without a query. */
export function isText(value: string): boolean {
  return allowed.test(value);
}

export function idsSchema<const D extends string>(description: D) {
  return { type: 'array', items: textSchema, minItems: 1, maxItems: 500, description } as const;
}
