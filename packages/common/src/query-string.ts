// How is a query string read? Arrays may be repeated (ids=a&ids=b), bracketed (ids[]=a) or comma-separated (ids=a,b); the schema of a
// parameter says what it is to become. What does not fit is left as it is, for validation to refuse. Contract section 7.
import type { Schema } from './endpoint.ts';

type Properties = Readonly<Record<string, Schema>>;

export function readQueryString(text: string, properties: Properties): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  if (text === '') return values;
  const given = new URLSearchParams(text);
  for (const [name, schema] of Object.entries(properties)) {
    if (schema.type === 'array') {
      // A bracketed value is taken as it stands, so that one with a comma can be asked for.
      const all = [...given.getAll(name).flatMap((value) => value.split(',')), ...given.getAll(`${name}[]`)];
      if (all.length > 0) values[name] = all;
      continue;
    }
    const all = given.getAll(name);
    if (all.length > 1) values[name] = all;
    else if (all[0] !== undefined) values[name] = convert(all[0], schema.type);
  }
  return values;
}

function convert(text: string, type: unknown): unknown {
  // An integer greater than JavaScript's greatest is still one: it means a page far beyond the end.
  if (type === 'integer' && /^[+-]?\d{1,256}$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** The same parameters as a query string, in the order of `values`; undefined ones are left out. */
export function writeQueryString(values: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (!Array.isArray(value)) parts.push(`${name}=${encodeURIComponent(String(value))}`);
    else {
      const key = value.some((entry) => String(entry).includes(',')) ? `${name}%5B%5D` : name;
      for (const entry of value) parts.push(`${key}=${encodeURIComponent(String(entry))}`);
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}
