// Handles POST /api/booking-groups: creates all bookings of the request, or reports why none was created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import { isStrict } from '@bay-booking/service/http/api/preferences';
import { newResponse } from '@bay-booking/service/idempotency/once';
import type { KeyedRequest } from '@bay-booking/service/idempotency/store';
import type { FromSchema } from 'json-schema-to-ts';
import { draftsError, holdIdsOf, newBooking, validateDrafts } from '../bookings/drafts.ts';
import type { BookingServices } from '../bookings/services.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import { createOnce } from '../idempotency/idempotency.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { memberOf } from './members.ts';
import { groupPath, groupResponse } from './resource.ts';
import type { groupRequestSchema } from './schema.ts';

export async function createGroup(
  services: BookingServices,
  request: ApiRequest<unknown, Partial<FromSchema<typeof groupRequestSchema>>>,
): Promise<EndpointResponse> {
  const { store, idempotency, link } = services;
  const { body, caller } = request;
  const { dryRun } = body;
  const now = services.now();
  const strict = isStrict(request.header('prefer'));
  const members = (body.bookings ?? []).map((input, index) => memberOf(input, index, strict));
  const create = async (keyed: KeyedRequest | undefined, requestErrors: readonly ValidationError[]) => {
    const drafts = await validateDrafts(services, members, { caller, now, requestErrors, dryRun });
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
      dryRun,
    });
    if (outcome?.conflicts.length) throw draftsError(drafts, outcome.conflicts);
    return dryRun ? { status: 200, body: { bookings: [] } } : response;
  };
  return dryRun ? create(undefined, request.validationErrors) : createOnce(request, { idempotency, now }, create);
}
