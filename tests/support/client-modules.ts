// Generates the modules of packages/client that list the operations, schemas and error codes of openapi.json.
import { join } from 'node:path';
import { read } from '@bay-booking/testkit/repository';

export const generatedFolder = 'packages/client/src/generated';

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string }[];
}

interface ErrorResponse {
  readonly content: { readonly 'application/json': { readonly examples: Readonly<Record<string, object>> } };
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, ErrorResponse>>;
  };
}

/** Returns the text of each module by its path in the repository. */
export function generateClientModules(): Readonly<Record<string, string>> {
  const document = JSON.parse(read('apps/bookings/openapi.json')) as OpenApiDocument;
  return {
    [join(generatedFolder, 'operations.ts')]: operationsModule(document),
    [join(generatedFolder, 'schemas.ts')]: schemasModule(document),
    [join(generatedFolder, 'error-codes.ts')]: errorCodesModule(document),
  };
}

function operationsModule({ paths }: OpenApiDocument): string {
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters }]) => {
      const acceptsKey = parameters.some(({ name }) => name === 'Idempotency-Key');
      const key = acceptsKey ? ', acceptsIdempotencyKey: true' : '';
      return `  ${operationId}: { method: '${method.toUpperCase()}', path: '${path}'${key} },`;
    }),
  );
  return moduleText('the method and path of every operation', [
    "import type { Operation, OperationId } from '../operations.ts';",
    '',
    'export const operationsById: Readonly<Record<OperationId, Operation>> = {',
    ...lines,
    '};',
  ]);
}

function schemasModule({ components }: OpenApiDocument): string {
  return moduleText('the named schemas', [
    "import type { components } from './bookings-api.ts';",
    '',
    "type Schemas = components['schemas'];",
    '',
    ...Object.keys(components.schemas).map((name) => `export type ${name} = Schemas['${name}'];`),
  ]);
}

/** Reads the error codes from the examples of the error responses, which contain every code. */
function errorCodesModule({ components }: OpenApiDocument): string {
  const codes = Object.values(components.responses).flatMap(({ content }) =>
    Object.keys(content['application/json'].examples),
  );
  return moduleText('the error codes', [
    '/** The error codes of the Bookings API. */',
    'export type ErrorCode =',
    ...codes.map((code, index) => `  | '${code}'${index === codes.length - 1 ? ';' : ''}`),
  ]);
}

function moduleText(content: string, lines: readonly string[]): string {
  return `${[`// Lists ${content} of openapi.json. \`npm run generate\` writes this file.`, ...lines].join('\n')}\n`;
}
