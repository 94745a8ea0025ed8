// Describes and handles POST /api/booking-erasures.
import { namedSchema } from '@bay-booking/common/endpoint';
import { textSchema } from '@bay-booking/common/text';
import { isUuid } from '../database/tagged-id.ts';
import { badRequest, problemsOf } from '../errors.ts';
import { defineEndpoint, type EndpointServices, idsSchema } from '../http/endpoint-parts.ts';
import { type Erasure, maxErasedBookings } from './erase.ts';

const eraseBookingsSchema = {
  title: 'EraseBookings',
  type: 'object',
  properties: {
    ids: idsSchema('Booking IDs. Exactly one of ids and userAlias is needed.'),
    userAlias: { ...textSchema, description: 'Every booking that has or had exactly this alias.' },
    dryRun: { type: 'boolean', description: 'true: only counts the bookings.' },
  },
} as const;

const erasureSchema = namedSchema('Erasure', {
  bookings: { type: 'integer', minimum: 0, description: 'The number of bookings that were changed.' },
});

export const createErasureEndpoint = ({ erasure, now }: EndpointServices & { readonly erasure: Erasure }) =>
  defineEndpoint({
    operationId: 'eraseBookings',
    method: 'POST',
    access: 'erase',
    path: '/api/booking-erasures',
    tag: 'Bookings',
    summary: 'Erase personal data',
    description:
      "Replaces the alias of bookings of the token's facilities, deleted ones included, by `erased` and removes their " +
      'metadata: in the bookings, their history, the feed, deliveries and stored responses. Bays and times stay. What ' +
      'other facilities hold of a booking that has moved stays too.',
    body: eraseBookingsSchema,
    bodyExample: { userAlias: 'Ann', dryRun: true },
    success: { status: 200, description: 'Erased.', schema: erasureSchema, example: { bookings: 3 } },
    handle: async ({ body, caller, requestId }) => {
      const { ids, userAlias, dryRun = false } = body;
      const { clientId, subject, facilities } = caller;
      if ((ids === undefined) === (userAlias === undefined)) throw invalid('ids', 'exactly one of ids and userAlias');
      const selected =
        userAlias === undefined ? new Set(ids?.filter(isUuid)) : await erasure.find(facilities, userAlias);
      if (selected.size > maxErasedBookings)
        throw invalid('userAlias', `more than ${maxErasedBookings} bookings have this alias, so name them by ids`);
      const author = { clientId, subject, requestId };
      const bookings = await erasure.erase(facilities, [...selected], { author, at: now(), dryRun });
      return { status: 200, body: { bookings } };
    },
  });

const invalid = (field: string, hint: string) => badRequest(problemsOf([{ field, kind: 'invalid', hint }]));
