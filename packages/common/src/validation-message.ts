// Says in plain words why a value violates a JSON Schema.
import type { ErrorObject } from 'ajv/dist/2020.js';

/** Returns a phrase such as `must have at most 500 items`. */
export function validationMessage({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  switch (keyword) {
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'minItems':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} items`;
    case 'maxItems':
      return `must have at most ${params.limit} items`;
    case 'minimum':
      return `must be ${params.limit} or more`;
    case 'maximum':
      return `must be ${params.limit} or less`;
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`;
    case 'additionalProperties':
      return `must not have the field ${params.additionalProperty}`;
    default:
      return message;
  }
}
