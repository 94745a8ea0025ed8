// Reads and writes query strings. A JSON Schema determines the types of the parameters (docs/behaviour.md, "Query
// parameters").
import type { Schema } from './endpoint.ts';

type Properties = Readonly<Record<string, Schema>>;

/** The maximum number of elements of an array whose schema has no `maxItems`. */
const defaultMaxItems = 1_000;
/**
 * The maximum length of a value with commas that may be a single element, such as the reference `ORD,7`. A longer value
 * can only be a list, because no id or reference is longer.
 */
const maxElementLength = 256;

/**
 * Reads the parameters that `properties` names, and ignores all others. The elements of an array may be repeated
 * (`ids=a&ids=b`), bracketed (`ids[]=a`), indexed (`ids[0]=a`) or comma-separated (`ids=a,b`).
 *
 * A value that cannot be converted to the type of its property stays a string. If a parameter is repeated and its type
 * is not an array, its values are returned as an array. The validation of the request rejects such values.
 */
export function readQueryString(text: string, properties: Properties): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  if (text === '') return values;
  const parameters = new URLSearchParams(text);
  for (const [name, schema] of Object.entries(properties)) {
    const given = parameters.getAll(name);
    if (schema.type === 'array') {
      const elements = readArray(given, readBracketed(parameters, name), schema);
      if (elements.length > 0) values[name] = elements;
    } else if (given.length > 1) values[name] = given;
    else if (given[0] !== undefined) values[name] = convert(given[0], schema.type);
  }
  return values;
}

export function findUnknownParameters(text: string, properties: Properties): readonly string[] {
  const names = new Set(new URLSearchParams(text).keys());
  return [...names].filter((name) => {
    const arrayName = bracketedName.exec(name)?.[1] ?? '';
    const isArrayElement = Object.hasOwn(properties, arrayName) && properties[arrayName]?.type === 'array';
    return !isArrayElement && !Object.hasOwn(properties, name);
  });
}

/** Matches the name of an array element: `ids[]`, as jQuery and Rails write it, or `ids[0]`, as PHP and qs write it. */
const bracketedName = /^(.+)\[\d{0,9}\]$/;

/** Returns the values of the parameters whose names are `name` with brackets, such as `ids[]` or `ids[0]`. */
function readBracketed(parameters: URLSearchParams, name: string): readonly string[] {
  return [...parameters].filter(([key]) => bracketedName.exec(key)?.[1] === name).map(([, value]) => value);
}

/**
 * Returns the elements of an array. `given` are the values of the parameters without brackets, and `bracketed` those of
 * the parameters with brackets. A value without brackets is split at its commas. An element can also contain a comma,
 * such as the reference `ORD,7`. The whole value is therefore added too, unless it is too long for an element or the
 * array has its maximum length already.
 */
function readArray(given: readonly string[], bracketed: readonly string[], schema: Schema): readonly string[] {
  const parts = given.flatMap((value) => (value.includes(',') ? value.split(',').map((part) => part.trim()) : [value]));
  const elements = [...parts, ...bracketed];
  const wholeValues = given.filter((value) => value.includes(',') && value.length <= maxElementLength);
  const freeItems = Math.max(0, Number(schema.maxItems ?? defaultMaxItems) - elements.length);
  return [...elements, ...wholeValues.slice(0, freeItems)];
}

/** Converts the text to the type of its property, or returns the text if it cannot be converted. */
function convert(text: string, type: unknown): unknown {
  // An integer above MAX_SAFE_INTEGER is valid too, for example as the number of a page after the end of the list. Like
  // every text of a request, an integer has at most 256 digits.
  if (type === 'integer' && /^[+-]?\d{1,256}$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  if (type === 'boolean' && /^(true|false|1|0)$/i.test(text)) return /^(true|1)$/i.test(text);
  return text;
}

/**
 * Writes parameters in the order of `values`, with a leading `?`. Leaves out undefined values. Returns an empty string
 * if there are no values.
 */
export function writeQueryString(values: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (!Array.isArray(value)) parts.push(`${name}=${encodeURIComponent(String(value))}`);
    else {
      // If an element contains a comma, the name gets the encoded brackets []. The service then does not split the
      // elements at their commas.
      const key = value.some((element) => String(element).includes(',')) ? `${name}%5B%5D` : name;
      for (const element of value) parts.push(`${key}=${encodeURIComponent(String(element))}`);
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}
