// Creates the OpenAPI document of the management API.
import type { Endpoint } from '@bay-booking/common/endpoint';
import { errorEnvelopeSchema } from '@bay-booking/common/errors';
import { openApiDocument } from '@bay-booking/common/openapi';
import { importSchema } from '../import/document.ts';
import type { Caller } from './authorize.ts';
import { errorCatalogue } from './problems.ts';
import { bodySchemas, entrySchemas, eventListSchema, importResultSchema } from './schema.ts';

export interface ManagementDocumentOptions {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly issuer: string;
  readonly scope: string;
}

export const managementDocument = ({ endpoints, issuer, scope }: ManagementDocumentOptions) =>
  openApiDocument({
    info: {
      title: 'Management API of Auth',
      version: '1.0.0',
      summary: 'Create, change and delete facilities, accounts and clients.',
      description:
        'For operators of the service. Every request needs an access token with the scope of this API, which only ' +
        'clients get that were imported with it. `contextData.field` of an error is a JSON Pointer.',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: issuer, description: 'This service.' }],
    tags: [
      { name: 'Resources', description: 'Facilities, accounts and clients.' },
      { name: 'Actions', description: 'Secrets, sessions, mails and personal access tokens.' },
      { name: 'Operations', description: 'Import, export and events.' },
    ],
    // The document does not call the handlers, so the type of the caller does not matter.
    endpoints: endpoints as readonly Endpoint<never>[],
    schemas: {
      Facility: entrySchemas.facility,
      Account: entrySchemas.account,
      Client: entrySchemas.client,
      PutFacility: bodySchemas.facility,
      PutAccount: bodySchemas.account,
      PutClient: bodySchemas.client,
      ImportFile: importSchema,
      ImportResult: importResultSchema,
      Events: eventListSchema,
      Errors: errorEnvelopeSchema,
    },
    errorSchema: 'Errors',
    errors: errorCatalogue,
    securitySchemes: {
      clientCredentials: {
        type: 'oauth2',
        description: 'The client authenticates with private_key_jwt.',
        flows: {
          clientCredentials: {
            tokenUrl: `${issuer}/connect/token`,
            scopes: { [scope]: 'Manage facilities, accounts and clients.' },
          },
        },
      },
    },
    security: () => [{ clientCredentials: [scope] }],
  });
