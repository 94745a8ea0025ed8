// Creates the OpenAPI document of the Bookings API from its endpoints.
import type { Endpoint } from '@bay-booking/common/endpoint';
import { type DocumentedError, errorEnvelopeSchema } from '@bay-booking/common/errors';
import { linkSchema, linksBelow } from '@bay-booking/common/links';
import { openApiDocument } from '@bay-booking/common/openapi';
import { pageLinksSchema } from '@bay-booking/common/page';
import { bookingsScopes, type Scopes } from '@bay-booking/common/scopes';
import { sufficientScopes } from '../auth/access-token.ts';
import type { Caller } from '../auth/caller.ts';
import { bookingItemExample, bookingItemSchema } from '../bookings/booking.ts';
import { errorCatalogue } from '../errors.ts';
import { editLinksSchema } from '../http/endpoint-parts.ts';
import { documentedWebhooks } from '../webhooks/api/schema.ts';
import { readDocument } from './reference/markdown.ts';

export interface OpenApiOptions {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scopes: Scopes;
}

/** In the order of the API reference. */
const tags = [
  { name: 'Bookings', description: 'Bookings of bays.' },
  { name: 'Groups', description: 'Several bookings, all or none.' },
  { name: 'Places', description: 'Locations and their bays.' },
  { name: 'Webhooks', description: 'Notifications of changes.' },
  { name: 'Availability', description: 'When bays are free.' },
  { name: 'Usage', description: 'How full the bays were.' },
  { name: 'Holds', description: 'Bays that are kept free for one owner.' },
  { name: 'Opening hours and closures', description: 'When bays can be booked.' },
  { name: 'Token', description: 'What the access token allows.' },
];

const summary = 'Create, update, delete, fetch and search bookings of bays, and list locations and bays.';

const errorTable = `<details><summary>All error codes</summary>

| Code | Status | Description | Returned by |
|---|---|---|---|
${Object.entries(errorCatalogue).map(errorRow).join('\n')}

</details>`;

function errorRow([code, error]: readonly [string, DocumentedError]): string {
  const { status, description: text, appliesTo } = error;
  const returnedBy = typeof appliesTo === 'string' ? appliesTo : 'the endpoints that list it';
  return `| \`${code}\` | ${status} | ${text} | ${returnedBy} |`;
}

export function createOpenApi({ endpoints, baseUrl, authIssuer, scopes }: OpenApiOptions): Record<string, unknown> {
  const introduction = readDocument('apps/bookings/src/openapi/introduction.md', {
    baseUrl,
    authIssuer,
    scope: scopes.write,
  });
  return openApiDocument({
    info: {
      title: 'Bookings API',
      version: '1.0.0',
      summary,
      description: `${introduction}\n${errorTable}`,
      contact: { name: 'Bay Booking' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: baseUrl, description: 'This service.' }],
    tags,
    // The document does not call the handlers, so the type of the caller does not matter.
    endpoints: endpoints as readonly Endpoint<never>[],
    ...(endpoints.some(({ operationId }) => operationId === 'createWebhook') && {
      webhooks: {
        tag: 'Webhooks',
        events: documentedWebhooks(bookingItemSchema, bookingItemExample(linksBelow(baseUrl))),
      },
    }),
    schemas: {
      Link: linkSchema,
      EditLinks: editLinksSchema,
      PageLinks: pageLinksSchema,
      Errors: errorEnvelopeSchema,
      ErrorItem: errorEnvelopeSchema.properties.errors.items,
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
            scopes: Object.fromEntries(
              Object.entries(bookingsScopes).map(([access, { description }]) => [
                scopes[access as keyof Scopes],
                description,
              ]),
            ),
          },
        },
      },
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token (RFC 9068).' },
      dpop: {
        type: 'http',
        scheme: 'DPoP',
        description: 'An access token that is bound to a key, with a proof in the header DPoP (RFC 9449).',
      },
    },
    security: ({ access }) => [
      ...sufficientScopes(scopes, access).map((set) => ({ clientCredentials: set })),
      { bearer: [] },
      { dpop: [] },
    ],
  });
}
