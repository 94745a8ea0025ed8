// Validates the query and the body of a request. Reports at most one error for each field.
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { validationMessage } from './validation-message.ts';

export interface ValidationError {
  readonly field: string;
  /** Only the router reports `unknown`. */
  readonly kind: 'missing' | 'invalid' | 'unknown';
  /** Says how to correct the value, such as `must not be empty`. May be empty. */
  readonly hint: string;
}

export interface Validated {
  readonly value: Readonly<Record<string, unknown>>;
  readonly validationErrors: readonly ValidationError[];
}

export type Validate = (input: Readonly<Record<string, unknown>>) => Validated;

/** `hint` says how to correct a string for which `test` returns false. */
export type Formats = Readonly<Record<string, { readonly test: (text: string) => boolean; readonly hint: string }>>;

/** The other patterns of request fields exclude control characters. */
export const timeOfDayPattern = '^(?:[01]\\d|2[0-3]):[0-5]\\d$';

const noErrors: readonly ValidationError[] = [];

/**
 * No pattern matches a lone surrogate, which PostgreSQL cannot store. The patterns themselves do not exclude them,
 * because other languages refuse such a pattern in the OpenAPI document.
 */
class WellFormedText extends RegExp {
  override test(text: string): boolean {
    return text.isWellFormed() && super.test(text);
  }
}

// Only validators that ajv writes as source code contain this name.
const regExp = Object.assign((pattern: string, flags: string) => new WellFormedText(pattern, flags), {
  code: 'regExp',
});

export function createAjv(formats: Formats): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: true, code: { regExp } });
  for (const [name, { test }] of Object.entries(formats)) ajv.addFormat(name, test);
  return ajv;
}

/** The validator ignores fields that the schema does not name, and treats null as missing. */
export function createValidator(formats: Formats): (schema: object) => Validate {
  const ajv = createAjv(formats);
  return (schema) => {
    const check = ajv.compile(schema);
    const fields = Object.keys((schema as { properties?: object }).properties ?? {});
    return (input) => {
      const value: Record<string, unknown> = {};
      for (const field of fields) if (Object.hasOwn(input, field) && input[field] !== null) value[field] = input[field];
      if (check(value)) return { value, validationErrors: noErrors };
      const validationErrors = validationErrorsOf(check.errors ?? [], formats);
      for (const { field } of validationErrors) delete value[field];
      return { value, validationErrors };
    };
  };
}

/** Returns the first error that ajv reports for each field. */
function validationErrorsOf(ajvErrors: readonly ErrorObject[], formats: Formats): readonly ValidationError[] {
  const byField = new Map<string, ValidationError>();
  for (const error of ajvErrors) {
    if (error.keyword === 'required') {
      const field = String(error.params.missingProperty);
      byField.set(field, { field, kind: 'missing', hint: '' });
      continue;
    }
    // `instancePath` is a JSON Pointer: the path `/bayIds/0` belongs to the field `bayIds`.
    const field = error.instancePath.split('/')[1] ?? '';
    if (!byField.has(field)) byField.set(field, { field, kind: 'invalid', hint: hintOf(error, formats) });
  }
  return [...byField.values()];
}

function hintOf(error: ErrorObject, formats: Formats): string {
  if (error.keyword === 'format') return formats[String(error.params.format)]?.hint ?? '';
  if (error.keyword === 'pattern')
    return error.params.pattern === timeOfDayPattern
      ? 'must be a time such as 07:30'
      : 'must not contain control characters';
  return validationMessage(error);
}
