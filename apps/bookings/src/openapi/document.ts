// The OpenAPI document of the Bookings API: its endpoints, with the texts, components and security of this service.
import type { Endpoint } from '@bay-booking/common/endpoint';
import { errorEnvelopeSchema } from '@bay-booking/common/errors';
import { linkSchema } from '@bay-booking/common/links';
import { openApiDocument } from '@bay-booking/common/openapi';
import type { Caller } from '../auth/caller.ts';
import { availabilityComponents } from '../availability/schema.ts';
import { feedComponents } from '../bookings/feed/schema.ts';
import { bookingComponents } from '../bookings/schema.ts';
import { closureComponents } from '../closures/schema.ts';
import { errorCatalogue } from '../errors.ts';
import { holdComponents } from '../holds/schema.ts';
import { openingHoursComponents } from '../opening-hours/schema.ts';
import { placeComponents } from '../places/schema.ts';
import { webhookComponents } from '../webhooks/schema.ts';

export interface OpenApiOptions {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
}

const description = `Create, update, delete, fetch and search bookings of bays, and list locations and bays.

Every request needs a bearer access token with the scope of this API. The token names the facilities that the client can
see and change. Errors have the error envelope. Each operation lists its error codes.`;

export function createOpenApi({ endpoints, baseUrl, authIssuer, scope }: OpenApiOptions): Record<string, unknown> {
  return openApiDocument({
    info: {
      title: 'Bookings API',
      version: '1.0.0',
      description,
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: baseUrl, description: 'This service.' }],
    tags: [
      { name: 'Bookings', description: 'Bookings of bays.' },
      { name: 'Places', description: 'Locations and their bays.' },
      { name: 'Webhooks', description: 'Notifications of changes.' },
      { name: 'Availability', description: 'When bays are free.' },
      { name: 'Holds', description: 'Bays that are kept free for one client.' },
      { name: 'Opening hours and closures', description: 'When bays can be booked.' },
    ],
    endpoints: endpoints as readonly Endpoint<never>[],
    schemas: {
      ...bookingComponents,
      ...feedComponents,
      ...placeComponents,
      ...webhookComponents,
      ...openingHoursComponents,
      ...closureComponents,
      ...availabilityComponents,
      ...holdComponents,
      Link: linkSchema,
      Errors: errorEnvelopeSchema,
    },
    errorSchema: 'Errors',
    errors: errorCatalogue,
    securitySchemes: {
      clientCredentials: {
        type: 'oauth2',
        description: 'The client is a personal access token, which the portal creates.',
        flows: {
          clientCredentials: {
            tokenUrl: `${authIssuer}/connect/token`,
            scopes: { [scope]: 'Manage bookings.' },
          },
        },
      },
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token (RFC 9068).' },
    },
    security: [{ clientCredentials: [scope] }, { bearer: [] }],
  });
}
