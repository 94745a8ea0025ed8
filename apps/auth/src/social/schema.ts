// Parts of the JSON Schemas of the settings of social providers.

export const url = { type: 'string', format: 'uri', pattern: '^https?://' } as const;
export const text = { type: 'string', minLength: 1 } as const;
