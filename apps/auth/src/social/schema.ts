// Defines JSON Schemas that the settings of all types of social providers use.

export const url = { type: 'string', format: 'uri', pattern: '^https?://' } as const;
export const text = { type: 'string', minLength: 1 } as const;
