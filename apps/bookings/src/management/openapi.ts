// Creates the OpenAPI document of the management API.
import type { Endpoint } from '@bay-booking/common/endpoint';
import { errorEnvelopeSchema } from '@bay-booking/common/errors';
import { linkSchema } from '@bay-booking/common/links';
import { openApiDocument } from '@bay-booking/common/openapi';
import { pageLinksSchema } from '@bay-booking/common/page';
import type { Caller } from '../auth/caller.ts';
import { managementErrors } from './problems.ts';
import { managementComponents } from './schema.ts';

export interface ManagementDocumentOptions {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
}

export function createManagementDocument({ endpoints, baseUrl, authIssuer, scope }: ManagementDocumentOptions) {
  return openApiDocument({
    info: {
      title: 'Management API of Bookings',
      version: '1.0.0',
      summary: 'Create, change and delete facilities, locations and bays.',
      description:
        'For operators of the service. Every request needs an access token with the scope of this API, which only ' +
        'clients get that were imported with it. Errors are as in the Bookings API; `contextData.field` is a JSON Pointer.',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: baseUrl, description: 'This service.' }],
    tags: [
      { name: 'Places', description: 'Facilities, their locations, and the bays of locations.' },
      { name: 'Operations', description: 'Import, export, events and status.' },
    ],
    // The document does not call the handlers, so the type of the caller does not matter.
    endpoints: endpoints as readonly Endpoint<never>[],
    schemas: {
      ...managementComponents,
      Link: linkSchema,
      PageLinks: pageLinksSchema,
      Errors: errorEnvelopeSchema,
    },
    errorSchema: 'Errors',
    errors: managementErrors,
    securitySchemes: {
      clientCredentials: {
        type: 'oauth2',
        description: 'The client authenticates with private_key_jwt.',
        flows: {
          clientCredentials: { tokenUrl: `${authIssuer}/connect/token`, scopes: { [scope]: 'Manage places.' } },
        },
      },
    },
    security: () => [{ clientCredentials: [scope] }],
  });
}
