// Generates an OpenAPI 3.1 document from endpoint descriptions.
import type { Endpoint, Schema, SuccessDescription, ValueDescription } from './endpoint.ts';
import type { DocumentedError } from './errors.ts';
import { anyText, textFormats } from './text.ts';

/** A request that the service sends (Standard Webhooks). */
export interface DocumentedWebhook {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly body: Schema;
  readonly bodyExample: unknown;
}

export interface DocumentOptions {
  readonly info: Schema;
  readonly servers: readonly Schema[];
  readonly tags: readonly Schema[];
  readonly endpoints: readonly Endpoint<never>[];
  readonly webhooks?: { readonly tag: string; readonly events: readonly DocumentedWebhook[] };
  /** Components by name, besides schemas with a `title`. Where a component is used, the document refers to it. */
  readonly schemas: Readonly<Record<string, Schema>>;
  /** The component that describes the body of every error response. */
  readonly errorSchema: string;
  readonly errors: Readonly<Record<string, DocumentedError>>;
  readonly securitySchemes: Schema;
  readonly security: (endpoint: Endpoint<never>) => readonly Schema[];
}

type Json = Record<string, unknown>;
/** Returns a copy of a schema that refers to the components instead of containing them. */
type WithReferences = (schema: object) => object;

/** Fields that do not apply are undefined, which JSON leaves out. */
export function openApiDocument(options: DocumentOptions): Json {
  const requestBodies = new Set<unknown>(options.endpoints.map(({ body, documentedBody = body }) => documentedBody));
  const componentNames = nameSchemas(options, requestBodies);
  const withReferences: WithReferences = (schema) =>
    copy(schema, (value) => {
      const name = componentNames.get(value as Schema);
      return name ? { $ref: `#/components/schemas/${name}` } : withPattern(value);
    });

  const paths: Record<string, Json> = {};
  for (const endpoint of options.endpoints) {
    const operation = operationOf(endpoint, options, withReferences);
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: options.info,
    servers: options.servers,
    tags: options.tags,
    paths,
    webhooks: options.webhooks && webhooksOf(options.webhooks, withReferences),
    components: {
      securitySchemes: options.securitySchemes,
      schemas: Object.fromEntries(
        [...componentNames].map(([original, name]) => {
          const { title: _, ...schema } = original;
          // The copy is not the component itself, so it is not replaced by a reference to itself.
          const component = withReferences(schema);
          return [name, requestBodies.has(original) ? component : allowNewFields(component)];
        }),
      ),
      responses: errorComponents(options),
    },
  };
}

/**
 * Also names objects inside the components, such as ClosureLinks, because client generators would invent other names.
 * Adds the objects inside request bodies to `requestBodies`.
 */
function nameSchemas({ schemas, endpoints, webhooks }: DocumentOptions, requestBodies: Set<unknown>) {
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]));
  const responses = endpoints.flatMap(({ success, otherSuccess }) => [success.schema, otherSuccess?.schema]);
  findTitled([...requestBodies, ...responses, ...(webhooks?.events ?? []).map(({ body }) => body)], names);
  // The loop also visits the objects that it adds.
  for (const [schema, name] of names) {
    for (const [property, value] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
      const nested = value.type === 'array' ? (value.items as Schema) : value;
      if (!nested?.properties) continue;
      if (!names.has(nested)) names.set(nested, `${name}${capitalize(property.replace('_', ''))}`);
      if (requestBodies.has(schema)) requestBodies.add(nested);
    }
  }
  return names;
}

function findTitled(value: unknown, names: Map<Schema, string>): void {
  if (typeof value !== 'object' || value === null) return;
  const { title } = value as Schema;
  if (typeof title === 'string' && !names.has(value as Schema)) names.set(value as Schema, title);
  for (const inner of Object.values(value)) findTitled(inner, names);
}

/** Readers of the document do not know our formats of text. */
function withPattern(value: unknown): unknown {
  const {
    format,
    [anyText]: isAny,
    ...schema
  } = (value ?? {}) as { readonly format?: unknown; readonly anyText?: true };
  const textFormat = Object.entries(textFormats).find(([name]) => name === format)?.[1];
  if (textFormat) return { pattern: textFormat.pattern, ...schema };
  return isAny ? schema : value;
}

const capitalize = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function operationOf(endpoint: Endpoint<never>, options: DocumentOptions, withReferences: WithReferences): Json {
  const { operationId, tag, summary, description, bodyUse, bodyExample } = endpoint;
  const body = endpoint.documentedBody ?? endpoint.body;
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: options.security(endpoint),
    parameters: parametersOf(endpoint, withReferences),
    ...(body && {
      requestBody: {
        required: bodyUse !== 'optional',
        content: jsonContent(withReferences(body), bodyExample),
      },
    }),
    responses: {
      ...successResponses(endpoint, withReferences),
      ...errorResponses(endpoint, options),
    },
    'x-errorCodes': Object.entries(options.errors)
      .filter(([, { appliesTo }]) => isSelected(endpoint, appliesTo))
      .map(([code]) => code),
  };
}

const webhookHeaders = {
  'webhook-id': 'The id of the delivery, which its repetitions share.',
  'webhook-timestamp': 'The time of the attempt, in seconds since 1970.',
  'webhook-signature': 'One or two signatures, separated by a space.',
} as const;

function webhooksOf({ tag, events }: NonNullable<DocumentOptions['webhooks']>, withReferences: WithReferences): Json {
  const parameters = Object.entries(webhookHeaders).map(([name, description]) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
  }));
  return Object.fromEntries(
    events.map(({ name, summary, description, body, bodyExample }) => [
      name,
      {
        post: {
          operationId: `receive${name.replace(/(?:^|\.)(\w)/g, (_match, initial: string) => initial.toUpperCase())}`,
          tags: [tag],
          summary,
          description,
          security: [],
          parameters,
          requestBody: { required: true, content: jsonContent(withReferences(body), bodyExample) },
          responses: {
            '2XX': { description: 'The receiver has got the event. Any other status leads to another attempt.' },
            410: { description: 'Disables the webhook.' },
          },
        },
      },
    ]),
  );
}

/** Responses may get new fields, which a generated client must accept. */
function allowNewFields(schema: object): object {
  return copy(schema, (value) => {
    const { additionalProperties, ...others } = (value ?? {}) as Json;
    return additionalProperties === false ? others : value;
  });
}

/** Returns a deep copy. `replace` is called for every value, outer values first. */
function copy(schema: object, replace: (value: unknown) => unknown): object {
  return JSON.parse(JSON.stringify(schema, (_key, value) => replace(value)));
}

function parametersOf({ params, query, queryExamples, headers }: Endpoint<never>, withReferences: WithReferences) {
  const required = new Set((query?.required as readonly string[] | undefined) ?? []);
  const queryProperties = (query?.properties as Record<string, Schema> | undefined) ?? {};
  const describe = (location: 'path' | 'header', values: Readonly<Record<string, ValueDescription>> = {}) =>
    Object.entries(values).map(([name, { description, schema, example }]) => ({
      name,
      in: location,
      required: location === 'path',
      description,
      schema: withReferences(schema),
      example,
    }));
  return [
    ...describe('path', params),
    ...Object.entries(queryProperties).map(([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: required.has(name),
      description,
      ...(schema.type === 'array' && { style: 'form', explode: true }),
      ...(schema.type === 'object' && { style: 'deepObject', explode: true }),
      schema: withReferences(schema),
      example: queryExamples?.[name],
    })),
    ...describe('header', headers),
  ];
}

function successResponses(endpoint: Endpoint<never>, withReferences: WithReferences): Json {
  const { method, headers: requestHeaders = {}, success, otherSuccess, tableField } = endpoint;
  const isConditional = method === 'GET' && 'If-None-Match' in requestHeaders;
  const csv = tableField && { 'text/csv': { schema: { type: 'string' } } };
  const responseOf = ({ description, schema, example, headers }: SuccessDescription) => ({
    description,
    headers,
    ...(schema && { content: { ...jsonContent(allowNewFields(withReferences(schema)), example), ...csv } }),
  });
  return {
    ...(otherSuccess && { [otherSuccess.status]: responseOf(otherSuccess) }),
    [success.status]: responseOf(success),
    ...(isConditional && { 304: { description: 'Not modified: If-None-Match names the current ETag.' } }),
  };
}

function errorResponses(endpoint: Endpoint<never>, { errors }: DocumentOptions): Json {
  const canReturn = ({ appliesTo }: DocumentedError): boolean =>
    appliesTo === 'every endpoint' ||
    (appliesTo === 'endpoints with a body' && endpoint.body !== undefined) ||
    isSelected(endpoint, appliesTo);
  const statuses = Object.values(errors)
    .filter(canReturn)
    .map(({ status }) => status);
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${errorComponentName(status)}` }]),
  );
}

function isSelected(endpoint: Endpoint<never>, appliesTo: DocumentedError['appliesTo']): boolean {
  if (typeof appliesTo === 'string') return false;
  return appliesTo.some((selector) =>
    typeof selector === 'string' ? selector === endpoint.operationId : selector(endpoint),
  );
}

/** Returns one component for each error status, with an example for each error code. */
function errorComponents({ errors, errorSchema }: DocumentOptions): Json {
  const components: Json = {};
  for (const [status, group] of Map.groupBy(Object.entries(errors), ([, error]) => error.status)) {
    const headers = Object.assign({}, ...group.map(([, error]) => error.headers ?? {}));
    components[errorComponentName(status)] = {
      description: group.map(([code, { description }]) => `${code}: ${description}`).join(' | '),
      ...(Object.keys(headers).length > 0 && { headers }),
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${errorSchema}` },
          examples: Object.fromEntries(group.map(([code, error]) => [code, { value: errorExample(code, error) }])),
        },
      },
    };
  }
  return components;
}

const errorComponentName = (status: number): string => `Error${status}`;

function errorExample(code: string, { description, field }: DocumentedError): Json {
  const named = field ?? (description.includes('{fieldName}') ? 'bayId' : undefined);
  return {
    errors: [
      {
        code,
        description: description.replace('{fieldName}', 'bayId'),
        moreInfo: '',
        contextData: named === undefined ? {} : { field: named },
      },
    ],
  };
}

const jsonContent = (schema: unknown, example: unknown): Json => ({ 'application/json': { schema, example } });
