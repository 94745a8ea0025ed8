// How does a resource say where one can go from it? The link object of the specification: an HTTP method and an absolute URL.

export interface Link {
  readonly method: string;
  readonly href: string;
}

export type MakeLink = (method: string, path: string) => Link;

/** Builds links below one public base address; `base` may carry a path and an ending slash. */
export function linksBelow(base: string): MakeLink {
  const root = base.replace(/\/+$/, '');
  return (method, path) => ({ method, href: `${root}${path}` });
}

export const linkSchema = {
  type: 'object',
  required: ['method', 'href'],
  additionalProperties: false,
  properties: {
    method: { type: 'string', description: 'HTTP method.' },
    href: { type: 'string', format: 'uri', description: 'Absolute URL.' },
  },
} as const;
