// Creates the management API of a service: its endpoints, router and OpenAPI document.
import { formats } from '@bay-booking/common/date-times';
import { type Endpoint, endpointDefiner, responseSchema, type Schema } from '@bay-booking/common/endpoint';
import { errorEnvelopeSchema } from '@bay-booking/common/errors';
import { linkSchema } from '@bay-booking/common/links';
import { openApiDocument } from '@bay-booking/common/openapi';
import { pageLinksSchema } from '@bay-booking/common/page';
import { type ApiOptions, apiErrorOf, mountEndpoints } from '@bay-booking/service/http/api/router';
import { type RequestLocals, sendErrors } from '@bay-booking/service/http/app';
import { type ErrorRequestHandler, Router } from 'express';
import { capital, changeRequestOf, dryRunResultSchema, recordEndpoints, withCommonParts } from './endpoints.ts';
import { type EventSource, eventListSchema, eventsEndpoint } from './events.ts';
import { exportDocument, type ImportStore, importDocument, RejectedImport } from './import.ts';
import { type Fields, inputSchema, type Operator } from './record.ts';

export interface ManagementOptions extends Pick<ApiOptions<Operator>, 'authorize' | 'check'> {
  readonly store: ImportStore;
  readonly title: string;
  readonly summary: string;
  /** ISSUER or BASE_URL */
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly scope: string;
  readonly events: EventSource;
  /** The parameters of an export. */
  readonly exportQuery?: Readonly<Record<string, Schema>>;
  /** The endpoints that only this service has, with the tag `Actions`. */
  readonly actions?: readonly Endpoint<Operator>[];
  readonly schemas?: Readonly<Record<string, Schema>>;
}

const defineEndpoint = endpointDefiner<Operator>();
/** Larger files would stop the other requests of the process for too long. */
const maxImportBytes = 10_000_000;
const tag = 'Operations';

const row = responseSchema({
  path: { type: 'string', description: 'The JSON Pointer of the record in the body.' },
  action: { enum: ['create', 'update', 'unchanged', 'error'] },
  errors: dryRunResultSchema.properties.errors,
});
const importResultSchema = responseSchema({ entries: { type: 'array', items: row } });

export function createManagement(options: ManagementOptions): Router {
  const { store, baseUrl, scope } = options;
  const { kinds } = store;
  const endpoints = [
    ...kinds.flatMap((kind) => recordEndpoints(kind, store)),
    ...(options.actions ?? []),
    ...fileEndpoints(options),
    eventsEndpoint(store, options.events),
  ].map(withCommonParts);
  const components = Object.fromEntries(
    kinds.flatMap((kind) => [
      [capital(kind.name), kind.schema],
      [`Put${capital(kind.name)}`, inputSchema(kind, kind.key)],
    ]),
  );
  const document = openApiDocument({
    info: {
      title: options.title,
      version: '1.0.0',
      summary: options.summary,
      description:
        'For operators of the service. Every request needs an access token with the scope of this API, which only ' +
        'clients get that were imported with it. `contextData.field` of an error is a JSON Pointer into the body, or ' +
        'names a parameter or header. With `dryRun=true`, nothing is written, and the response is 200 with a DryRun.',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: baseUrl, description: 'This service.' }],
    tags: [
      { name: 'Records', description: 'What an import file contains.' },
      { name: 'Actions', description: 'Changes and queries that are not records.' },
      { name: tag, description: 'Import, export and events.' },
    ],
    // The document does not call the handlers, so the type of the caller does not matter.
    endpoints: endpoints as readonly Endpoint<never>[],
    schemas: {
      ...components,
      ImportFile: store.files.schema,
      ImportResult: importResultSchema,
      DryRun: dryRunResultSchema,
      Events: eventListSchema,
      Link: linkSchema,
      PageLinks: pageLinksSchema,
      Errors: errorEnvelopeSchema,
      ...options.schemas,
    },
    errorSchema: 'Errors',
    errors: store.errors.catalogue,
    securitySchemes: {
      clientCredentials: {
        type: 'oauth2',
        description: 'The client authenticates with private_key_jwt.',
        flows: { clientCredentials: { tokenUrl: options.tokenUrl, scopes: { [scope]: 'Manage records.' } } },
      },
    },
    security: () => [{ clientCredentials: [scope] }],
  });
  return createRouter(endpoints, document, options);
}

function fileEndpoints({ store, exportQuery = {} }: ManagementOptions): readonly Endpoint<Operator>[] {
  const { schema, example } = store.files;
  return [
    defineEndpoint({
      operationId: 'exportEverything',
      method: 'GET',
      path: '/management/export',
      access: 'read',
      tag,
      summary: 'Export everything',
      description: 'An import file with every record. Importing it changes nothing.',
      query: { type: 'object', properties: exportQuery } as Schema,
      success: { status: 200, description: 'The import file.', schema, example },
      handle: ({ query, caller }) => exportDocument(store, query as Fields, caller),
    }),
    defineEndpoint({
      operationId: 'importFile',
      method: 'POST',
      path: '/management/import',
      access: 'write',
      tag,
      summary: 'Import a file',
      description:
        'Creates and changes what the file contains, all or nothing, and removes nothing. A field that is left out ' +
        'keeps its value. The body has 10 MB at most; npm run import takes larger files. With dryRun=true, nothing is ' +
        'written, and errors are in the entries.',
      body: schema,
      bodyUse: 'as sent',
      describesDryRun: false,
      bodyLimit: maxImportBytes,
      timeoutSeconds: 600,
      bodyExample: example,
      success: {
        status: 200,
        description: 'What was done with each record.',
        schema: importResultSchema,
        example: { entries: [{ path: '/facilities/0', action: 'unchanged', errors: [] }] },
      },
      handle: (request) =>
        importDocument(store, request.body, changeRequestOf(request)).catch((error: unknown) => {
          const { badRequest, problemsOf } = store.errors;
          throw error instanceof RejectedImport ? badRequest(problemsOf(error.problems)) : error;
        }),
    }),
  ];
}

/** Only this spelling of the paths, because a proxy that blocks `/management` may let others pass. */
function createRouter(
  endpoints: readonly Endpoint<Operator>[],
  document: object,
  { store: { errors }, authorize, check }: ManagementOptions,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/management/openapi.json', (_request, response) => {
    response.set('Cache-Control', 'no-store').json(document);
  });
  const reading = 'strict';
  const cacheControl = 'no-store';
  mountEndpoints(router, endpoints, { errors, formats, authorize, ...(check && { check }), reading, cacheControl });
  router.use('/management', (_request, response) => {
    (response.locals as RequestLocals).route = '/management/{unknown}';
    throw errors.apiError('ERR00404');
  });
  router.use('/management', ((error: unknown, _request, response, _next) =>
    sendErrors(response, apiErrorOf(error, errors))) as ErrorRequestHandler);
  return router;
}
