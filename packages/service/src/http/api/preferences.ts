// Reads the header Prefer (RFC 7240) and finds the fields that `handling=strict` rejects.
import type { Endpoint, Schema } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';

const quotedOrPlain = /^(?:"[^"]*"|[^\s"]*)$/;

/** Malformed preferences are ignored, and the first one of a name counts (RFC 7240 section 2). */
export function findPreference(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const part of header.split(',')) {
    // A single regular expression would take quadratic time, because of the optional spaces.
    const [preference = ''] = part.split(';', 1);
    const [key = '', ...valueParts] = preference.split('=');
    const value = valueParts.join('=').trim();
    if (key.trim().toLowerCase() === name && quotedOrPlain.test(value)) return value.replace(/^"|"$/g, '');
  }
  return undefined;
}

/** Unknown parameters and fields are then errors. */
export function isStrict(header: string | undefined): boolean {
  return findPreference(header, 'handling')?.toLowerCase() === 'strict';
}

/** A large request can have an unknown field in every place. */
const maxUnknownFields = 100;

export function findUnknownFields(names: readonly string[], known: ReadonlySet<string>): readonly ValidationError[] {
  const unknown = names.filter((name) => !known.has(name)).slice(0, maxUnknownFields);
  return unknown.map((field) => ({ field, kind: 'unknown', hint: '' }));
}

/** Returns a function that finds the unknown fields of a body, and of the objects inside it. */
export function createUnknownFieldsFinder({ body = {}, method, success }: Endpoint<never>) {
  const properties = propertiesOf(body);
  const known = new Set([...Object.keys(properties), ...(method === 'GET' ? [] : fieldsOfResource(success.schema))]);
  return (fields: Readonly<Record<string, unknown>>): readonly ValidationError[] => [
    ...findUnknownFields(Object.keys(fields), known),
    ...Object.entries(properties).flatMap(([field, schema]) =>
      findUnknownFieldsInside(schema, Object.hasOwn(fields, field) ? fields[field] : undefined, field),
    ),
  ];
}

/** A client may send back the resource that GET returned. Other responses have no links. */
function fieldsOfResource({ properties = {}, anyOf = [] }: Schema = {}): readonly string[] {
  const own = Object.keys(properties as object);
  return [...(own.includes('_links') ? own : []), ...(anyOf as readonly Schema[]).flatMap(fieldsOfResource)];
}

export function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return (schema.properties as Record<string, Schema> | undefined) ?? {};
}

/** Finds unknown fields of the objects inside `value`. An object whose schema lists no fields may have any. */
export function findUnknownFieldsInside(schema: Schema, value: unknown, path: string): readonly ValidationError[] {
  if (Array.isArray(value)) {
    const items = (schema.items ?? {}) as Schema;
    return value
      .flatMap((element, index) => findUnknownFieldsInside(items, element, `${path}[${index}]`))
      .slice(0, maxUnknownFields);
  }
  const properties = schema.properties as Readonly<Record<string, Schema>> | undefined;
  if (typeof value !== 'object' || value === null || properties === undefined) return [];
  const errors = Object.entries(value).flatMap(([field, inner]): readonly ValidationError[] => {
    const known = Object.hasOwn(properties, field) ? properties[field] : undefined;
    if (known) return findUnknownFieldsInside(known, inner, `${path}.${field}`);
    // The validation of the schema reports a field that is never allowed.
    return schema.additionalProperties === false
      ? []
      : [{ field, path: `${path}.${field}`, kind: 'unknown', hint: '' }];
  });
  return errors.slice(0, maxUnknownFields);
}

/** The seconds of `Prefer: wait=N`. */
export function waitSecondsOf(header: string | undefined): number | undefined {
  const value = findPreference(header, 'wait');
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}
