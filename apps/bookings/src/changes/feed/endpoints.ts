// Describes the endpoint of the change feed. Its handler is in list-changes.ts.
import type { Schema } from '@bay-booking/common/endpoint';
import { actorExample, defineEndpoint, string } from '../../http/endpoint-parts.ts';
import { createChangeLister, type FeedServices } from './list-changes.ts';
import { feedQuerySchema } from './schema.ts';

export interface FeedEndpointServices extends FeedServices {
  readonly listSchema: Schema;
  readonly bookingExample: { readonly id: string };
}

export function createFeedEndpoints(services: FeedEndpointServices) {
  return [
    defineEndpoint({
      operationId: 'listBookingChanges',
      method: 'GET',
      access: 'read',
      path: '/api/booking-changes',
      tag: 'Bookings',
      summary: 'Read the changes of bookings',
      description:
        'Every booking of a facility at its latest change, in the order of the changes. Follow next until a page has ' +
        'no items, and repeat that request later. A deleted booking stays in the feed for the retention period. ' +
        'After a 410 response, start from the beginning.',
      query: feedQuerySchema,
      queryExamples: { facilityId: 'fac-north' },
      headers: {
        Prefer: {
          description:
            'wait=N delays an empty page until the facility changes, for N seconds and 25 at most (RFC 7240).',
          schema: string,
        },
      },
      success: {
        status: 200,
        description: 'A page of changes.',
        schema: services.listSchema,
        example: changeListExample(services),
        headers: { 'Preference-Applied': { description: 'The wait in force, such as wait=25.', schema: string } },
      },
      // The handler reports the validation errors itself. The same response can then also report a facilityId that is
      // missing or that the token does not name.
      handlesValidationErrors: true,
      handle: createChangeLister(services),
    }),
  ];
}

function changeListExample({ bookingExample, config: { baseUrl } }: FeedEndpointServices) {
  const addressAfter = (number: number) =>
    `${baseUrl}/api/booking-changes?facilityId=fac-north&afterChangeNumber=${number}&removed=0&limit=500`;
  const deletedId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1e';
  return {
    items: [
      {
        state: 'updated',
        kind: 'Booking',
        id: bookingExample.id,
        modified: 4711,
        actor: actorExample,
        data: bookingExample,
      },
      { state: 'deleted', kind: 'Booking', id: deletedId, modified: 4712, actor: actorExample },
    ],
    next: addressAfter(4712),
    _links: {
      self: { method: 'GET', href: addressAfter(4710) },
      next: { method: 'GET', href: addressAfter(4712) },
    },
  };
}
