// Reads and writes query strings, typed by a JSON Schema (docs/behaviour.md, "Query parameters").
import type { Schema } from './endpoint.ts';

type Properties = Readonly<Record<string, Schema>>;

/**
 * Reads the parameters that `properties` names and ignores all others. An array may be repeated (`ids=a&ids=b`),
 * bracketed (`ids[]=a`) or comma-separated (`ids=a,b`). A value that cannot be converted to the type of its property
 * stays a string, and a parameter that is repeated although it is no array becomes an array. Validation then rejects
 * both.
 */
export function readQueryString(text: string, properties: Properties): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  if (text === '') return values;
  const parameters = new URLSearchParams(text);
  for (const [name, schema] of Object.entries(properties)) {
    const given = parameters.getAll(name);
    if (schema.type === 'array') {
      // A bracketed value is not split, so that a client can send an element with a comma.
      const elements = [...given.flatMap((value) => value.split(',')), ...parameters.getAll(`${name}[]`)];
      if (elements.length > 0) values[name] = elements;
    } else if (given.length > 1) values[name] = given;
    else if (given[0] !== undefined) values[name] = convert(given[0], schema.type);
  }
  return values;
}

function convert(text: string, type: unknown): unknown {
  // An integer above Number.MAX_SAFE_INTEGER is valid: as a page number it means a page past the end of the list.
  if (type === 'integer' && /^[+-]?\d{1,256}$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/**
 * Writes parameters in the order of `values`, with a leading `?`. Leaves out undefined values. Without any value,
 * returns ''.
 */
export function writeQueryString(values: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (!Array.isArray(value)) parts.push(`${name}=${encodeURIComponent(String(value))}`);
    else {
      const key = value.some((element) => String(element).includes(',')) ? `${name}%5B%5D` : name;
      for (const element of value) parts.push(`${key}=${encodeURIComponent(String(element))}`);
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}
