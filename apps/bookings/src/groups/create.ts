// Handles POST /api/booking-groups: creates all bookings of the request, or reports why none was created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { FromSchema } from 'json-schema-to-ts';
import { draftsError, findConflicts, holdIdsOf, newBooking, validateDrafts } from '../bookings/drafts.ts';
import type { BookingServices } from '../bookings/services.ts';
import { isStrict } from '../http/preferences.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import { createOnce, newResponse } from '../idempotency/idempotency.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { memberOf } from './members.ts';
import { groupPath, groupResponse } from './resource.ts';
import type { groupRequestSchema } from './schema.ts';

export async function createGroup(
  services: BookingServices,
  request: ApiRequest<unknown, Partial<FromSchema<typeof groupRequestSchema>>>,
): Promise<EndpointResponse> {
  const { store, idempotency, link } = services;
  const { body, caller, validationErrors } = request;
  const now = services.now();
  const strict = isStrict(request.header('prefer'));
  const members = (body.bookings ?? []).map((input, index) => memberOf(input, index, strict));

  if (body.dryRun) {
    const options = { caller, now, requestErrors: validationErrors, dryRun: true };
    const drafts = await validateDrafts(services, members, options);
    const conflicts = await findConflicts(services, drafts, options);
    if (conflicts.flat().length > 0) throw draftsError(drafts, conflicts);
    return { status: 200, body: { bookings: [] } };
  }
  return createOnce(request, { idempotency, now }, async (keyed, errors) => {
    const drafts = await validateDrafts(services, members, { caller, now, requestErrors: errors });
    const [first] = drafts;
    if (!first) throw new Error('a valid request has no booking');
    const id = newTaggedId(first.valid.facilityId, now);
    const bookings = drafts.map((draft) => newBooking(draft, now, id));
    const { headers, ...created } = groupResponse(201, id, bookings, link);
    const response = { ...created, headers: { ...headers, Location: link('GET', groupPath(id)).href } };
    const outcome = await store.write({
      facilityOfBays: first.valid.facilityId,
      create: bookings,
      holdIds: holdIdsOf(drafts),
      at: now,
      sender: request,
      response: keyed && newResponse(keyed, response),
    });
    if (outcome?.conflicts.length) throw draftsError(drafts, outcome.conflicts);
    return response;
  });
}
