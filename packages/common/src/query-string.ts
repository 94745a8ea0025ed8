// Reads and writes query strings (docs/behaviour.md, "Query parameters").
import type { Schema } from './endpoint.ts';

type Properties = Readonly<Record<string, Schema>>;

/** The maximum for an array whose schema has no `maxItems`. */
const defaultMaxItems = 1_000;
/** No id or reference is longer, so a longer value with commas can only be a list. */
const maxElementLength = 256;

/**
 * Reads the parameters that `properties` names. A value that cannot be converted to its type stays a string. A repeated
 * value becomes an array. The request validation rejects both.
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
      continue;
    }
    const members = schema.type === 'object' ? readMembers(parameters, name) : [];
    // A value without brackets is not an object. The request validation rejects it.
    if (members.length > 0 && given.length === 0) values[name] = Object.fromEntries(members);
    else if (given.length > 1) values[name] = given;
    else if (given[0] !== undefined) values[name] = convert(given[0], schema.type);
  }
  return values;
}

export function findUnknownParameters(text: string, properties: Properties): readonly string[] {
  const names = new Set(new URLSearchParams(text).keys());
  return [...names].filter((name) => {
    const hasType = (owner: string | undefined, type: string): boolean =>
      owner !== undefined && Object.hasOwn(properties, owner) && properties[owner]?.type === type;
    const isElement = hasType(bracketedName.exec(name)?.[1], 'array') || hasType(memberName.exec(name)?.[1], 'object');
    return !isElement && !Object.hasOwn(properties, name);
  });
}

/** Matches `ids[]`, as jQuery and Rails write it, and `ids[0]`, as PHP and qs write it. */
const bracketedName = /^(.+)\[\d{0,9}\]$/;

function readBracketed(parameters: URLSearchParams, name: string): readonly string[] {
  return [...parameters].filter(([key]) => bracketedName.exec(key)?.[1] === name).map(([, value]) => value);
}

/** Matches `metadata[order]`. */
const memberName = /^([^[]+)\[(.*)\]$/s;

/** A repeated member becomes an array, which the request validation rejects. */
function readMembers(parameters: URLSearchParams, name: string): readonly [string, unknown][] {
  const members = [...parameters].flatMap(([key, value]) => {
    const [, owner, member = ''] = memberName.exec(key) ?? [];
    return owner === name ? [{ member, value }] : [];
  });
  return [...Map.groupBy(members, ({ member }) => member)].map(([member, given]) => {
    const values = given.map(({ value }) => value);
    return [member, values.length > 1 ? values : values[0]];
  });
}

/**
 * Splits a value without brackets at its commas. Also keeps the whole value, because one element, such as the reference
 * `ORD,7`, can contain a comma.
 */
function readArray(given: readonly string[], bracketed: readonly string[], schema: Schema): readonly string[] {
  const parts = given.flatMap((value) => (value.includes(',') ? value.split(',').map((part) => part.trim()) : [value]));
  const elements = [...parts, ...bracketed];
  const wholeValues = given.filter((value) => value.includes(',') && value.length <= maxElementLength);
  const freeItems = Math.max(0, Number(schema.maxItems ?? defaultMaxItems) - elements.length);
  return [...elements, ...wholeValues.slice(0, freeItems)];
}

function convert(text: string, type: unknown): unknown {
  // An integer above MAX_SAFE_INTEGER can be a page number after the end of the list.
  if (type === 'integer' && /^[+-]?\d{1,256}$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  if (type === 'boolean' && /^(true|false|1|0)$/i.test(text)) return /^(true|1)$/i.test(text);
  return text;
}

export function writeQueryString(values: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (typeof value !== 'object' || value === null) parts.push(`${name}=${encodeURIComponent(String(value))}`);
    else if (!Array.isArray(value)) {
      for (const [key, member] of Object.entries(value))
        parts.push(`${name}%5B${encodeURIComponent(key)}%5D=${encodeURIComponent(String(member))}`);
    } else {
      // If the name has brackets, the service does not split the elements at commas.
      const key = value.some((element) => String(element).includes(',')) ? `${name}%5B%5D` : name;
      for (const element of value) parts.push(`${key}=${encodeURIComponent(String(element))}`);
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}
