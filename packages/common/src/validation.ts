// Which fields of a request are at fault? JSON Schema (ajv) decides; a fault names its field, and whether it is missing or invalid.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';

export interface ValidationError {
  readonly field: string;
  readonly kind: 'missing' | 'invalid';
  readonly hint: string;
}

export interface Validated {
  /** The fields that are valid. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly validationErrors: readonly ValidationError[];
}

export type Validate = (input: Readonly<Record<string, unknown>>) => Validated;

/** Formats that schemas may name: each says whether a string has it, and what to do about one that has not. */
export type Formats = Readonly<Record<string, { readonly test: (text: string) => boolean; readonly hint: string }>>;

const nothing: readonly ValidationError[] = [];

export function createValidator(formats: Formats): (schema: object) => Validate {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false });
  for (const [name, { test }] of Object.entries(formats)) ajv.addFormat(name, test);
  return (schema) => {
    const check = ajv.compile(schema) as ValidateFunction;
    const known = Object.keys((schema as { properties?: object }).properties ?? {});
    return (input) => {
      const value: Record<string, unknown> = {};
      // null says the same as leaving the field out; unknown fields are ignored.
      for (const field of known) if (Object.hasOwn(input, field) && input[field] !== null) value[field] = input[field];
      if (check(value)) return { value, validationErrors: nothing };
      const validationErrors = validationErrorsOf(check.errors ?? [], formats);
      for (const { field } of validationErrors) delete value[field];
      return { value, validationErrors };
    };
  };
}

function validationErrorsOf(errors: readonly ErrorObject[], formats: Formats): readonly ValidationError[] {
  const validationErrors = new Map<string, ValidationError>();
  for (const error of errors) {
    if (error.keyword === 'required') {
      const field = String(error.params.missingProperty);
      validationErrors.set(field, { field, kind: 'missing', hint: '' });
      continue;
    }
    const field = error.instancePath.split('/')[1] ?? '';
    if (!validationErrors.has(field))
      validationErrors.set(field, { field, kind: 'invalid', hint: hintOf(error, formats) });
  }
  return [...validationErrors.values()];
}

function hintOf({ keyword, message, params }: ErrorObject, formats: Formats): string {
  if (keyword === 'format') return formats[String(params.format)]?.hint ?? '';
  if (keyword === 'pattern') return 'must hold no control characters';
  return message ?? '';
}
