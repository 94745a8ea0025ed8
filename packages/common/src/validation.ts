// Validates the query and the body of a request.
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { anyText, escapePointer, findTextErrors, matchesFormat, type TextError, textFormats } from './text.ts';

export interface ValidationError {
  readonly field: string;
  /** The position of the value, such as `weekly.monday[0].closes` or a JSON Pointer. Default: the whole field. */
  readonly path?: string;
  readonly kind: 'missing' | 'invalid' | 'unknown' | 'duplicate' | 'conflict' | 'forbidden';
  /** Says how to correct the value, such as `must not be empty`. May be empty. */
  readonly hint: string;
  /** A code of the catalogue. Default: ERR00001 if the field is missing, otherwise ERR00002. */
  readonly code?: string;
  /** Default: the field. */
  readonly contextData?: Readonly<Record<string, unknown>>;
}

/** An error whose `path` is a JSON Pointer (RFC 6901), empty for the whole body. */
export type PointerError = ValidationError & { readonly path: string };

export function atPointer(
  path: string,
  kind: ValidationError['kind'],
  hint = '',
  more: Pick<ValidationError, 'code' | 'contextData'> = {},
): PointerError {
  const field = path.split('/').findLast((segment) => segment !== '' && !/^\d+$/.test(segment)) ?? 'body';
  return { ...more, field, path, kind, hint };
}

function pointerErrorsOf(errors: readonly ErrorObject[]): readonly PointerError[] {
  return errors.map((error) => {
    const { keyword, instancePath, params } = error;
    if (keyword === 'required') return atPointer(`${instancePath}/${escapePointer(params.missingProperty)}`, 'missing');
    if (keyword === 'additionalProperties')
      return atPointer(`${instancePath}/${escapePointer(params.additionalProperty)}`, 'unknown', 'is not known');
    return atPointer(instancePath, 'invalid', validationMessage(error));
  });
}

/** Returns a function that compiles a schema to a function that finds every error of a value. */
export function createPointerValidator(
  formats: Formats,
): (schema: object) => (value: unknown) => readonly PointerError[] {
  const compile = createCompiler(formats);
  return (schema) => {
    const check = compile(schema);
    return (value) => pointerErrorsOf(check(value));
  };
}

export type Validate = (input: Readonly<Record<string, unknown>>) => {
  readonly value: Readonly<Record<string, unknown>>;
  readonly validationErrors: readonly ValidationError[];
};

/** `hint` says how to correct a string that fails `test`. */
export type Formats = Readonly<Record<string, { readonly test: (text: string) => boolean; readonly hint: string }>>;

export const timeOfDayPattern = '^(?:[01]\\d|2[0-3]):[0-5]\\d$';

const noErrors: readonly ValidationError[] = [];
/** A large body can have an error in every element. */
const maxErrors = 100;

/**
 * Returns a function that compiles a schema to a function that finds the errors of a value. No schema can forget the
 * text that cannot be stored: it is an error wherever it is, also in objects of any form.
 */
export function createCompiler(formats: Formats): (schema: object) => (value: unknown) => readonly ErrorObject[] {
  const ajv = new Ajv2020({ allErrors: true, strict: true });
  const hints = new Map(Object.entries({ ...textFormats, ...formats }).map(([name, { hint }]) => [name, hint]));
  for (const name of Object.keys(textFormats))
    ajv.addFormat(name, (text: string) => matchesFormat(name as keyof typeof textFormats, text));
  ajv.addKeyword(anyText);
  for (const [name, { test }] of Object.entries(formats)) ajv.addFormat(name, test);
  return (schema) => {
    const isValid = ajv.compile(schema);
    const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, object>> };
    const unchecked = Object.keys(properties).filter((name) => anyText in (properties[name] ?? {}));
    return (value) => {
      const errors = isValid(value) ? [] : (isValid.errors ?? []).map((error) => withHint(error, hints));
      const ofText = findTextErrors(value, unchecked);
      if (ofText.length === 0) return errors;
      const reported = errors.map((error) => segmentsOf(error).map(escapePointer).join('/'));
      const known = new Set(reported.map((path) => `/${path}`));
      return [...errors, ...ofText.filter(({ pointer }) => !known.has(pointer)).map(textError)];
    };
  };
}

const withHint = (error: ErrorObject, hints: ReadonlyMap<string, string>): ErrorObject =>
  error.keyword === 'format' ? { ...error, message: hints.get(error.params.format) ?? '' } : error;

const textError = ({ pointer, hint }: TextError): ErrorObject => ({
  keyword: 'text',
  instancePath: pointer,
  schemaPath: '',
  params: {},
  message: hint,
});

const isNullable = (type: unknown): boolean => Array.isArray(type) && type.includes('null');

/** Ignores fields that the schema does not name. Treats null as missing unless the schema allows null. */
export function createValidator(formats: Formats): (schema: object) => Validate {
  const compile = createCompiler(formats);
  return (schema) => {
    const check = compile(schema);
    const properties = Object.entries((schema as { properties?: Record<string, { type?: unknown }> }).properties ?? {});
    return (input) => {
      const value: Record<string, unknown> = {};
      for (const [field, { type }] of properties) {
        const isGiven = Object.hasOwn(input, field) && (input[field] !== null || isNullable(type));
        if (isGiven) value[field] = input[field];
      }
      const errors = check(value);
      if (errors.length === 0) return { value, validationErrors: noErrors };
      // No part of an invalid field may reach a handler.
      for (const error of errors) delete value[segmentsOf(error)[0] ?? ''];
      return { value, validationErrors: validationErrorsOf(errors) };
    };
  };
}

/** Returns the first ajv error of each path. */
function validationErrorsOf(ajvErrors: readonly ErrorObject[]): readonly ValidationError[] {
  const byPath = new Map<string, ValidationError>();
  for (const error of ajvErrors) {
    const segments = segmentsOf(error);
    const parts = segments.map((segment) => (/^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`));
    const path = parts.join('').replace(/^\./, '');
    if (byPath.has(path)) continue;
    if (error.keyword === 'required')
      byPath.set(path, { field: segments.at(-1) ?? '', path, kind: 'missing', hint: '' });
    else byPath.set(path, { field: segments[0] ?? '', path, kind: 'invalid', hint: hintOf(error) });
    if (byPath.size === maxErrors) break;
  }
  return [...byPath.values()];
}

/** Returns the path of the error: the field, then properties and indexes inside it. */
function segmentsOf({ instancePath, params, propertyName }: ErrorObject): readonly string[] {
  const pointer = instancePath.split('/').slice(1);
  const segments = pointer.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  // ajv reports these errors for the object that has or lacks the property.
  const property: unknown = params.missingProperty ?? params.additionalProperty ?? params.propertyName ?? propertyName;
  return property === undefined ? segments : [...segments, String(property)];
}

function hintOf(error: ErrorObject): string {
  if (error.propertyName !== undefined)
    return `the name '${error.propertyName}' is empty, is too long or has characters that are not allowed`;
  return validationMessage(error);
}

const atLeast = (unit: string) => (limit: number) =>
  limit === 1 ? 'must not be empty' : `must have at least ${limit} ${unit}`;
const atMost = (unit: string) => (limit: number) => `must have at most ${limit} ${unit}`;

/** By the keyword of the schema, for keywords with a limit. */
const limitMessages: Readonly<Record<string, (limit: number) => string>> = {
  minLength: atLeast('characters'),
  minItems: atLeast('items'),
  minProperties: atLeast('fields'),
  maxLength: atMost('characters'),
  maxItems: atMost('items'),
  maxProperties: atMost('fields'),
  minimum: (limit) => `must be ${limit} or more`,
  maximum: (limit) => `must be ${limit} or less`,
};

/** Returns a phrase such as `must have at most 500 items`. */
function validationMessage({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  if (keyword === 'enum') return `must be one of ${params.allowedValues.join(', ')}`;
  if (keyword === 'additionalProperties') return `must not have the field ${params.additionalProperty}`;
  if (keyword === 'type') return `must be ${[params.type].flat().join(' or ')}`;
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`;
  if (keyword === 'pattern')
    return params.pattern === timeOfDayPattern ? 'must be a time such as 07:30' : 'has a character that is not allowed';
  return limitMessages[keyword]?.(params.limit) ?? message;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
