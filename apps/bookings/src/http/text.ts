// Which strings are taken? 1 to 256 characters, no control characters, and only what Unicode can encode (contract
// section 7).

export const textSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  pattern: '^[^\\p{Cc}\\p{Cs}]*$',
} as const;

const allowed = /^[^\p{Cc}\p{Cs}]{1,512}$/u;

/** Whether an id from a path can be anybody's; one that cannot is looked for in vain, not refused. */
export function isText(value: string): boolean {
  return allowed.test(value);
}

export function idsSchema<const D extends string>(description: D) {
  return { type: 'array', items: textSchema, minItems: 1, maxItems: 500, description } as const;
}
