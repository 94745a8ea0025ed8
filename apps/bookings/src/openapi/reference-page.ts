// Renders the reference page from the OpenAPI document, as one HTML page without scripts and without external
// resources.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Eta } from 'eta';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: SchemaLike;
}

interface SchemaLike {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly items?: SchemaLike;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, SchemaLike>>;
}

interface Content {
  readonly 'application/json'?: { readonly schema: SchemaLike; readonly example?: unknown };
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, SchemaLike>> };
}

const views = import.meta.dirname;

export interface ReferencePage {
  readonly html: string;
  /** Allows only the style sheet of the page, by its hash. */
  readonly contentSecurityPolicy: string;
}

export function renderReferencePage(
  openApi: object,
  addresses: { readonly server: string; readonly tokenUrl: string; readonly scope: string },
): ReferencePage {
  const document = openApi as Document;
  const style = readFileSync(`${views}/reference-page.css`, 'utf8');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => describeOperation(document, method, path, operation)),
  );
  const tags = document.tags.map(({ name }) => ({
    name,
    operations: operations.filter(({ tag }) => tag === name),
  }));
  const eta = new Eta({ views, cache: true });
  const html = eta.render('reference-page', { info: document.info, style, tags, ...addresses });
  const styleHash = createHash('sha256').update(style).digest('base64');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { html, contentSecurityPolicy: policy.join('; ') };
}

function describeOperation(document: Document, method: string, path: string, operation: Operation) {
  const { operationId, tags, summary, description, parameters, requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  return {
    id: operationId,
    tag: tags[0],
    method: method.toUpperCase(),
    path,
    summary,
    description,
    fields: [
      ...parameters.map((parameter) => ({
        name: parameter.name,
        required: parameter.required,
        location: parameter.in,
        type: typeOf(parameter.schema),
        description: parameter.description,
      })),
      ...bodyFields(document, body?.schema),
    ],
    requestExample: formatExample(body?.example),
    responses: Object.entries(responses).map(([status, response]) => ({
      status,
      // The document joins the errors of one status by ' | '.
      lines: response.description.split(' | '),
    })),
    responseExample: formatExample(success?.content?.['application/json']?.example),
  };
}

function bodyFields({ components }: Document, schema: SchemaLike | undefined) {
  const resolved = schema?.$ref ? components.schemas[schema.$ref.split('/').at(-1) as string] : schema;
  return Object.entries(resolved?.properties ?? {}).map(([name, field]) => ({
    name,
    required: resolved?.required?.includes(name) ?? false,
    location: 'body',
    type: typeOf(field),
    description: field.description,
  }));
}

function typeOf({ type, format, items }: SchemaLike): string {
  if (type === 'array' && items) return `${typeOf(items)}[]`;
  return format ?? type ?? '';
}

function formatExample(example: unknown): string | undefined {
  return example === undefined ? undefined : JSON.stringify(example, null, 2);
}
