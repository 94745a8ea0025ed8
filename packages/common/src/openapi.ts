// How does a client's author read our endpoints? As OpenAPI 3.1, made from the very descriptions and schemas that requests are
// validated by. A schema that `components` names is referred to, wherever it occurs.
import type { Endpoint, Schema, ValueDescription } from './endpoint.ts';

export interface DocumentedProblem {
  readonly status: number;
  readonly description: string;
  readonly headers?: Readonly<Record<string, ValueDescription>>;
}

export interface DocumentOptions {
  readonly info: Schema;
  readonly servers: readonly Schema[];
  readonly tags: readonly Schema[];
  readonly endpoints: readonly Endpoint<never>[];
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly errorSchema: string;
  readonly problems: Readonly<Record<string, DocumentedProblem>>;
  /** Codes that every endpoint may answer, and those that every endpoint with a body may. */
  readonly sharedProblems: { readonly always: readonly string[]; readonly withBody: readonly string[] };
  readonly securitySchemes: Schema;
  readonly security: readonly Schema[];
}

export function openApiDocument(options: DocumentOptions): Record<string, unknown> {
  const names = new Map(Object.entries(options.schemas).map(([name, schema]) => [schema as unknown, name]));
  const refer = (value: unknown, top = false): unknown => {
    if (Array.isArray(value)) return value.map((entry) => refer(entry));
    if (typeof value !== 'object' || value === null) return value;
    const name = names.get(value);
    if (name && !top) return { $ref: `#/components/schemas/${name}` };
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, refer(entry)]));
  };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of options.endpoints) {
    const operations = paths[endpoint.path] ?? {};
    operations[endpoint.method.toLowerCase()] = operation(endpoint, options, refer);
    paths[endpoint.path] = operations;
  }
  return {
    openapi: '3.1.0',
    info: options.info,
    servers: options.servers,
    tags: options.tags,
    security: options.security,
    paths,
    components: {
      securitySchemes: options.securitySchemes,
      schemas: Object.fromEntries(Object.entries(options.schemas).map(([name, schema]) => [name, refer(schema, true)])),
    },
  };
}

type Refer = (schema: unknown) => unknown;

function operation(endpoint: Endpoint<never>, options: DocumentOptions, refer: Refer): Record<string, unknown> {
  const { operationId, tag, summary, description, body, bodyUse, bodyExample } = endpoint;
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    parameters: parametersOf(endpoint, refer),
    ...(body && {
      requestBody: {
        required: bodyUse !== 'optional',
        content: {
          'application/json': { schema: refer(body), ...(bodyExample !== undefined && { example: bodyExample }) },
        },
      },
    }),
    responses: {
      ...successOf(endpoint, refer),
      ...failuresOf(endpoint, options),
    },
  };
}

function parametersOf({ params, query, queryExamples, headers }: Endpoint<never>, refer: Refer): unknown[] {
  const required = new Set((query?.required as readonly string[] | undefined) ?? []);
  return [
    ...Object.entries(params ?? {}).map(([name, { description, schema, example }]) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: refer(schema),
      ...(example !== undefined && { example }),
    })),
    ...Object.entries((query?.properties as Record<string, Schema> | undefined) ?? {}).map(([name, schema]) => {
      const { description, ...rest } = schema;
      return {
        name,
        in: 'query',
        required: required.has(name),
        description,
        ...(schema.type === 'array' && { style: 'form', explode: true }),
        schema: refer(rest),
        ...(queryExamples?.[name] !== undefined && { example: queryExamples[name] }),
      };
    }),
    ...Object.entries(headers ?? {}).map(([name, { description, schema, example }]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema,
      ...(example !== undefined && { example }),
    })),
  ];
}

function successOf({ success, notModified }: Endpoint<never>, refer: Refer): Record<string, unknown> {
  const { status, description, schema, example, headers } = success;
  return {
    [status]: {
      description,
      ...(headers && { headers }),
      ...(schema && {
        content: { 'application/json': { schema: refer(schema), ...(example !== undefined && { example }) } },
      }),
    },
    ...(notModified && { 304: { description: 'Not modified: If-None-Match names the current ETag.' } }),
  };
}

function failuresOf(endpoint: Endpoint<never>, options: DocumentOptions): Record<string, unknown> {
  const { problems, sharedProblems, errorSchema } = options;
  const codes = [...endpoint.problems, ...(endpoint.body ? sharedProblems.withBody : []), ...sharedProblems.always];
  const byStatus = new Map<number, string[]>();
  for (const code of new Set(codes)) {
    const { status } = problems[code] as DocumentedProblem;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, known]) => {
      const headers = Object.assign({}, ...known.map((code) => problems[code]?.headers ?? {}));
      return [
        status,
        {
          description: known.map((code) => `${code}: ${problems[code]?.description}`).join(' | '),
          ...(Object.keys(headers).length > 0 && { headers }),
          content: {
            'application/json': {
              schema: { $ref: `#/components/schemas/${errorSchema}` },
              examples: Object.fromEntries(known.map((code) => [code, { value: exampleOf(code, endpoint, problems) }])),
            },
          },
        },
      ];
    }),
  );
}

function exampleOf(code: string, { errorContext = {} }: Endpoint<never>, problems: DocumentOptions['problems']) {
  const description = problems[code]?.description.replace('{fieldName}', 'bayId');
  return { errors: [{ code, description, moreInfo: '', contextData: errorContext }] };
}
