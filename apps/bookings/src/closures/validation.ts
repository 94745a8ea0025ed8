// Validates a request to create or update a closure.
import type { Problem } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import { parseDateTime } from '../bookings/date-times.ts';
import { badRequest, problemOf, problemsOf } from '../errors.ts';
import type { Closure } from './closure.ts';
import type { closureBodySchema } from './schema.ts';
import type { ClosureStore } from './store.ts';

export type ClosureBody = Partial<FromSchema<typeof closureBodySchema>>;
export type RequestedClosure = Omit<Closure, 'id' | 'createdAt' | 'lastUpdatedAt'>;

/** @throws {ApiError} 400 with every problem that was found */
export async function validateClosure(
  body: ClosureBody,
  routerErrors: readonly ValidationError[],
  facilities: readonly string[],
  store: Pick<ClosureStore, 'findFacilitiesOfBays' | 'findFacilityOfLocation'>,
): Promise<RequestedClosure> {
  const { bayIds, locationId, reason = null } = body;
  const validationErrors = [...routerErrors];
  const problems: Problem[] = [];
  const invalid = (field: string, hint: string) => {
    const isReported = validationErrors.some((error) => error.field === field);
    if (!isReported) validationErrors.push({ field, kind: 'invalid', hint });
  };

  const [start, end] = [body.startDate, body.endDate].map((text) => text && parseDateTime(text));
  if (start && end && end < start) problems.push(problemOf('ERR00010'));
  if (start && end && end.getTime() === start.getTime()) invalid('endDate', 'must be after startDate');

  const isPlaceReported = routerErrors.some(({ field }) => field === 'bayIds' || field === 'locationId');
  if (bayIds && locationId !== undefined) invalid('locationId', 'must be left out with bayIds');
  if (!bayIds && locationId === undefined && !isPlaceReported) invalid('bayIds', 'bayIds or locationId is needed');
  const found = new Set<string>();
  if (bayIds) {
    const bays = await store.findFacilitiesOfBays(facilities, bayIds);
    for (const { facilityId } of bays) found.add(facilityId);
    if (bays.length < new Set(bayIds).size) problems.push(problemOf('ERR00012'));
    if (found.size > 1) invalid('bayIds', 'must be bays of one facility');
  }
  if (locationId !== undefined) {
    const facilityId = await store.findFacilityOfLocation(facilities, locationId);
    if (facilityId === undefined) invalid('locationId', 'no location has this id');
    else found.add(facilityId);
  }
  const [facilityId] = found;
  if (validationErrors.length > 0 || problems.length > 0 || facilityId === undefined || !start || !end)
    throw badRequest([...problemsOf(validationErrors), ...problems]);
  return {
    facilityId,
    bayIds: bayIds ? [...new Set(bayIds)] : null,
    locationId: locationId ?? null,
    startDate: start.toISOString(),
    endDate: end.toISOString(),
    reason,
  };
}
