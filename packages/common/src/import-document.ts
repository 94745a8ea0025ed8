// Parses and validates import files and reports every error with its JSON Pointer (RFC 6901).
import type { ErrorObject } from 'ajv/dist/2020.js';
import { createAjv, type Formats } from './validation.ts';
import { validationMessage } from './validation-message.ts';

export class ImportError extends Error {
  override readonly name = 'ImportError';
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    const count = errors.length === 1 ? '1 error' : `${errors.length} errors`;
    super(`Nothing was imported. The file has ${count}:\n${errors.map((error) => `  ${error}`).join('\n')}`);
    this.errors = errors;
  }
}

/** The value can have any type, because the document may be invalid. */
export interface DocumentNode {
  readonly path: string;
  readonly value: unknown;
}

/** Finds errors that JSON Schema cannot express. A rule also runs if the document violates its schema. */
export type Rule = (root: DocumentNode) => readonly string[];

/** The reader accepts JSON or an object that is already parsed. */
export function createImportReader<Document>(
  schema: object,
  rule: Rule,
  formats: Formats = {},
): (input: string | object) => Document {
  const validate = createAjv(formats).compile<Document>(schema);
  return (input) => {
    const document = typeof input === 'string' ? parseJson(input) : input;
    const schemaErrors = validate(document) ? [] : (validate.errors ?? []).map(describeError);
    const errors = [...schemaErrors, ...rule({ path: '', value: document })];
    if (errors.length > 0) throw new ImportError(errors);
    return document as Document;
  };
}

export function propertyOf({ path, value }: DocumentNode, name: string): DocumentNode {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return {
    path: `${path}/${escapePointer(name)}`,
    value: isObject ? (value as Record<string, unknown>)[name] : undefined,
  };
}

/** Returns no elements if the property is not an array. */
export function elementsOf(parent: DocumentNode, name: string): readonly DocumentNode[] {
  const { path, value } = propertyOf(parent, name);
  return Array.isArray(value) ? value.map((element, index) => ({ path: `${path}/${index}`, value: element })) : [];
}

/** Returns an error for each object whose normalized `property` equals that of an earlier object. */
export function findDuplicates(
  objects: readonly DocumentNode[],
  property: string,
  normalize = (text: string): string => text,
): string[] {
  const firstPaths = new Map<string, string>();
  const errors: string[] = [];
  for (const object of objects) {
    const { path, value } = propertyOf(object, property);
    if (typeof value !== 'string') continue;
    const key = normalize(value);
    const firstPath = firstPaths.get(key);
    if (firstPath === undefined) firstPaths.set(key, path);
    else errors.push(`${path}: is the same as ${firstPath}`);
  }
  return errors;
}

export function timeZoneErrors(facility: DocumentNode): string[] {
  const { path, value } = propertyOf(facility, 'timeZone');
  // The schema reports an empty time zone.
  if (typeof value !== 'string' || value === '' || isTimeZone(value)) return [];
  return [`${path}: ${value} is not an IANA time zone`];
}

function isTimeZone(name: string): boolean {
  // Intl accepts offsets such as +01:00, which are not IANA names and have no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** RFC 6901 uses an empty string for the whole document, but then the error would begin with a colon. */
const wholeDocument = '/';

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ImportError([`${wholeDocument}: is not valid JSON (${(error as Error).message})`]);
  }
}

function describeError(error: ErrorObject): string {
  const { keyword, instancePath, params } = error;
  const path = instancePath || wholeDocument;
  switch (keyword) {
    case 'required':
      return `${instancePath}/${escapePointer(params.missingProperty)}: is missing`;
    case 'additionalProperties':
      return `${instancePath}/${escapePointer(params.additionalProperty)}: is not known`;
    // The schemas use `pattern` only to exclude characters.
    case 'pattern':
      return `${path}: has a character that is not allowed`;
    default:
      return `${path}: ${validationMessage(error)}`;
  }
}
