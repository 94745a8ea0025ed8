// Reads and writes query strings (docs/behaviour.md, "Query parameters").
import type { Schema } from './endpoint.ts';

type Properties = Readonly<Record<string, Schema>>;

/** The maximum for an array whose schema has no `maxItems`. */
const defaultMaxItems = 1_000;
/** No id or reference is longer, so a longer value with commas can only be a list. */
const maxElementLength = 256;

/** Reads the parameters that `properties` names. A repeated value becomes an array, which the validation rejects. */
export function readQueryString(text: string, properties: Properties): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  if (text === '') return values;
  const parameters = readParameters(text, properties);
  for (const [name, schema] of Object.entries(properties)) {
    const { whole, bracketed } = parameters.get(name) ?? noValues;
    if (schema.type === 'array') {
      const elements = readArray(
        whole,
        bracketed.map(([, value]) => value),
        schema,
      );
      if (elements.length > 0) values[name] = elements;
    }
    // A value without brackets is not an object. The request validation rejects it.
    else if (bracketed.length > 0 && whole.length === 0) values[name] = readMembers(bracketed);
    else if (whole.length > 1) values[name] = whole;
    else if (whole[0] !== undefined) values[name] = whole[0];
  }
  return values;
}

interface GivenValues {
  /** The values of the name without brackets. */
  readonly whole: string[];
  /** What the brackets contain, and the value. */
  readonly bracketed: [key: string, value: string][];
}

const noValues: GivenValues = { whole: [], bracketed: [] };

/** Reads the query string once, because it can contain thousands of parameters. */
function readParameters(text: string, properties: Properties): ReadonlyMap<string, GivenValues> {
  const parameters = new Map<string, GivenValues>();
  for (const [parameter, value] of parametersOf(text)) {
    const property = findProperty(parameter, properties);
    if (!property) continue;
    const values = parameters.get(property.name) ?? { whole: [], bracketed: [] };
    parameters.set(property.name, values);
    if (property.key === undefined) values.whole.push(value);
    else values.bracketed.push([property.key, value]);
  }
  return parameters;
}

/** Bytes that are not UTF-8 become half a surrogate pair, which the validation rejects wherever it is. */
export function parametersOf(text: string): readonly (readonly [name: string, value: string])[] {
  const parameters = [...new URLSearchParams(text)];
  // This character is either sent or stands for such bytes.
  if (/%ef%bf%bd/i.test(text)) return parameters;
  return parameters.map(([name, value]) => [name, value.replaceAll('\ufffd', '\ud800')]);
}

export function findUnknownParameters(text: string, properties: Properties): readonly string[] {
  const names = new Set(new URLSearchParams(text).keys());
  return [...names].filter((name) => !findProperty(name, properties));
}

/** Matches `ids[]`, as jQuery and Rails write it, and `ids[0]`, as PHP and qs write it. */
const elementName = /^(.+)\[(\d*)\]$/;
/** Matches `metadata[order]`. */
const memberName = /^([^[]+)\[(.*)\]$/s;

/** Finds the property that the parameter belongs to. `key` is what its brackets contain. */
function findProperty(parameter: string, properties: Properties) {
  if (Object.hasOwn(properties, parameter)) return { name: parameter };
  if (!parameter.endsWith(']')) return undefined;
  for (const [pattern, type] of [
    [elementName, 'array'],
    [memberName, 'object'],
  ] as const) {
    const [, name = '', key] = pattern.exec(parameter) ?? [];
    if (Object.hasOwn(properties, name) && properties[name]?.type === type) return { name, key };
  }
  return undefined;
}

/** A repeated member becomes an array, which the request validation rejects. */
function readMembers(bracketed: GivenValues['bracketed']): Record<string, unknown> {
  const members = Map.groupBy(bracketed, ([key]) => key);
  return Object.fromEntries(
    [...members].map(([key, given]) => {
      const values = given.map(([, value]) => value);
      return [key, values.length > 1 ? values : values[0]];
    }),
  );
}

const splitList = (value: string): readonly string[] => value.split(',').map((part) => part.trim());
/** Whether `splitList` changes the value. */
const isSplit = (value: string): boolean => value.includes(',') || value !== value.trim();

/**
 * Splits a value without brackets at its commas, and drops spaces around elements and empty elements if another one
 * remains. Also keeps the whole value, because one element, such as the reference `ORD,7`, can contain a comma.
 */
function readArray(given: readonly string[], bracketed: readonly string[], schema: Schema): readonly string[] {
  const parts = given.flatMap(splitList);
  const all = [...parts, ...bracketed];
  const filled = all.filter((element) => element !== '');
  // One empty element is enough for the validation, which would report each of thousands.
  const elements = filled.length > 0 ? filled : all.slice(0, 1);
  const wholeValues = given.filter((value) => isSplit(value) && value.length <= maxElementLength);
  const freeItems = Math.max(0, Number(schema.maxItems ?? defaultMaxItems) - elements.length);
  return [...elements, ...wholeValues.slice(0, freeItems)];
}

/** Converts integers and booleans. A value of another form stays a string, which the validation rejects. */
export const convertQuery = (values: Readonly<Record<string, unknown>>, properties: Properties) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? convert(value, properties[name]?.type) : value,
    ]),
  );

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
    } else parts.push(...writeArray(name, value));
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Writes a value that `readArray` has split as it was sent, and other elements one by one. */
function writeArray(name: string, values: readonly unknown[]): readonly string[] {
  const elements = new Set(values.map(String));
  const elementsOf = (list: string) => splitList(list).filter((element) => element !== '');
  const lists = [...elements].filter(
    (value) =>
      isSplit(value) &&
      value.length <= maxElementLength &&
      elementsOf(value).length > 0 &&
      elementsOf(value).every((element) => elements.has(element)),
  );
  const written = new Set(lists.flatMap((list) => [list, ...elementsOf(list)]));
  const others = [...elements].filter((element) => !written.has(element));
  // If the name has brackets, the service does not split the element.
  const keyOf = (element: string) => (isSplit(element) ? `${name}%5B%5D` : name);
  return [
    ...lists.map((list) => `${name}=${encodeURIComponent(list)}`),
    ...others.map((element) => `${keyOf(element)}=${encodeURIComponent(element)}`),
  ];
}
