// Tests the OpenAPI document that is generated from the description of an endpoint.
import { expect, test } from '@jest/globals';
import { endpointDefiner } from './endpoint.ts';
import { openApiDocument } from './openapi.ts';

const thing = { type: 'object', additionalProperties: false, properties: { id: { type: 'string' } } } as const;
const query = {
  type: 'object',
  properties: { ids: { type: 'array', items: { type: 'string' }, description: 'The ids of parts.' } },
} as const;
const defineEndpoint = endpointDefiner<undefined>();
const unavailable = {
  status: 503,
  description: 'The service is unavailable.',
  appliesTo: 'every endpoint',
  headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'string' } } },
} as const;

interface DocumentedOperation {
  readonly parameters: object[];
  readonly requestBody: object;
  readonly responses: Record<string, { content: Record<string, object> }>;
}

const document = openApiDocument({
  info: { title: 'Things', version: '1' },
  servers: [{ url: 'https://things.example' }],
  tags: [{ name: 'Things' }],
  endpoints: [
    defineEndpoint({
      operationId: 'createThing',
      method: 'POST',
      path: '/things/{id}',
      access: 'write',
      tag: 'Things',
      summary: 'Create a thing',
      description: 'Creates a thing.',
      params: { id: { description: 'The id.', schema: { type: 'string' } } },
      query,
      body: thing,
      success: { status: 201, description: 'The thing was created.', schema: { type: 'array', items: thing } },
      errorContext: { thing: '' },
      handle: async () => ({ status: 201 }),
    }),
  ],
  schemas: { Thing: thing, Errors: { type: 'object', additionalProperties: false } },
  errorSchema: 'Errors',
  errors: {
    A: { status: 400, description: "'{fieldName}' is not valid.", appliesTo: [({ query }) => query !== undefined] },
    B: { status: 400, description: 'The thing exists.', appliesTo: ['createThing'] },
    C: unavailable,
    D: { status: 415, description: 'The media type is not supported.', appliesTo: 'endpoints with a body' },
  },
  securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  security: ({ access }) => [{ bearer: [access] }],
}) as {
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: {
    schemas: object;
    responses: Record<string, { description: string; content: Record<string, object> }>;
  };
};

const operation = document.paths['/things/{id}']?.post as DocumentedOperation;

test('a schema that is a component is replaced by a reference wherever it occurs', () => {
  const reference = { $ref: '#/components/schemas/Thing' };
  expect(operation.requestBody).toEqual({ required: true, content: { 'application/json': { schema: reference } } });
  expect(operation.responses[201]?.content['application/json']).toEqual({
    schema: { type: 'array', items: reference },
  });
  expect(document.components.schemas).toEqual({ Thing: thing, Errors: { type: 'object' } });
});

test('the document describes path and query parameters, and an array as a repeated parameter', () => {
  expect(operation.parameters).toEqual([
    { name: 'id', in: 'path', required: true, description: 'The id.', schema: { type: 'string' } },
    {
      name: 'ids',
      in: 'query',
      required: false,
      description: 'The ids of parts.',
      style: 'form',
      explode: true,
      schema: { type: 'array', items: { type: 'string' } },
    },
  ]);
});

test('the errors of one status are described by one component, with an example of each code and all headers', () => {
  const { responses } = document.components;
  // Every example has the field `bayId` in place of {fieldName}.
  expect(responses.Error400?.description).toBe("A: '{fieldName}' is not valid. | B: The thing exists.");
  expect(responses.Error400?.content['application/json']).toMatchObject({
    schema: { $ref: '#/components/schemas/Errors' },
    examples: {
      A: { value: { errors: [{ code: 'A', description: "'bayId' is not valid.", moreInfo: '', contextData: {} }] } },
      B: { value: { errors: [{ code: 'B', description: 'The thing exists.', moreInfo: '', contextData: {} }] } },
    },
  });
  expect(responses.Error503).toHaveProperty('headers.Retry-After');
});

test('an operation refers to the components of its errors, and lists its own codes', () => {
  expect(Object.keys(operation.responses)).toEqual(['201', '400', '415', '503']);
  expect(operation.responses[400]).toEqual({ $ref: '#/components/responses/Error400' });
  // The errors C and D apply to many endpoints, so `x-errorCodes` does not contain them.
  expect(operation).toHaveProperty(['x-errorCodes'], ['A', 'B']);
});

test('clients must accept new fields of responses, and the body of a request allows only the fields of its schema', () => {
  expect(document.components.schemas).toEqual({ Thing: thing, Errors: { type: 'object' } });
});
