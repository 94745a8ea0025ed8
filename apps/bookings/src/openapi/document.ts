// How is the API described to machines? The endpoints as OpenAPI 3.1, with the names, texts and security of this
// service.
import type { Endpoint } from '@bay-booking/common/endpoint';
import { errorEnvelopeSchema } from '@bay-booking/common/errors';
import { linkSchema } from '@bay-booking/common/links';
import { openApiDocument } from '@bay-booking/common/openapi';
import type { Caller } from '../auth/caller.ts';
import {
  bookingItemSchema,
  bookingListSchema,
  bookingSchema,
  createBookingSchema,
  searchBodySchema,
  updateBookingSchema,
} from '../bookings/schema.ts';
import { errorCatalogue } from '../errors.ts';
import { bayListSchema, baySchema, locationListSchema, locationSchema } from '../places/schema.ts';

export interface OpenApiOptions {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
}

const description = `Create, update, delete, fetch and search bookings of bays, and list locations and bays.

Every call needs a Bearer access token with the scope of the API; it reaches the facilities that the token names, and no others.
Failures carry the error envelope; its codes are listed per operation.`;

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
      { name: 'Bookings', description: 'Who has which bay, and when.' },
      { name: 'Places', description: 'Locations and their bays.' },
    ],
    endpoints: endpoints as readonly Endpoint<never>[],
    schemas: {
      Booking: bookingSchema,
      BookingItem: bookingItemSchema,
      BookingList: bookingListSchema,
      CreateBooking: createBookingSchema,
      UpdateBooking: updateBookingSchema,
      SearchBody: searchBodySchema,
      BookingLocation: locationSchema,
      BookingLocationList: locationListSchema,
      BookingBay: baySchema,
      BookingBayList: bayListSchema,
      Link: linkSchema,
      Errors: errorEnvelopeSchema,
    },
    errorSchema: 'Errors',
    errors: errorCatalogue,
    securitySchemes: {
      clientCredentials: {
        type: 'oauth2',
        description: 'A personal access token is the client; see the portal.',
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
