// Creates links of resources and their JSON Schema (specification, "Link object").
import { responseSchema } from './endpoint.ts';

export interface Link {
  readonly method: string;
  readonly href: string;
}

export type MakeLink = (method: string, path: string) => Link;

export function linksBelow(baseUrl: string): MakeLink {
  return (method, path) => ({ method, href: `${baseUrl}${path}` });
}

export const linkSchema = responseSchema({
  method: { type: 'string', description: 'HTTP method.' },
  href: { type: 'string', format: 'uri', description: 'Absolute URL.' },
});

/** The schema of an object that must have exactly these links. */
export function linksSchema<const Name extends string>(...names: readonly Name[]) {
  const properties = Object.fromEntries(names.map((name) => [name, linkSchema])) as Record<Name, typeof linkSchema>;
  return { type: 'object', required: names, additionalProperties: false, properties } as const;
}
