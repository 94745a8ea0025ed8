// Binds the header Idempotency-Key to the errors of the Bookings API and to the facilities of the caller.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import { keyedRequest, type OnceOptions, once } from '@bay-booking/service/idempotency/once';
import type { KeyedRequest, StoredResponse } from '@bay-booking/service/idempotency/store';
import type { CallerRequest } from '../auth/caller.ts';
import { badRequest, errors, problemOf } from '../errors.ts';

/** Default of `readStored`: checks that the caller still has access to the facility of the response. */
type CreationOptions = Omit<OnceOptions, 'errors' | 'readStored'> & Partial<Pick<OnceOptions, 'readStored'>>;

/**
 * Creates a resource, or returns the stored response to an earlier request with the same key. `create` must store its
 * response if it gets a keyed request. It also gets the validation errors.
 */
export function createWithKey(
  request: CallerRequest<unknown, object>,
  { readStored, ...options }: CreationOptions,
  create: (keyed: KeyedRequest | undefined, errors: readonly ValidationError[]) => Promise<EndpointResponse>,
): Promise<EndpointResponse> {
  const keyed = keyedRequest(request);
  const readWithAccess = ({ facilityId, response }: StoredResponse): EndpointResponse => {
    if (!request.caller.facilities.includes(facilityId)) throw badRequest([problemOf('ERR00012', options.context)]);
    return JSON.parse(response) as EndpointResponse;
  };
  return once(keyed, { ...options, errors, readStored: readStored ?? readWithAccess }, () =>
    create(keyed, request.validationErrors),
  );
}
