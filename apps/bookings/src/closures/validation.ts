// Validates a request to create or update a closure.
import { parseDates } from '@bay-booking/common/date-times';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import { badRequest, problemOf, problemsOf } from '../errors.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import type { Closure, closureBodySchema } from './closure.ts';

export type ClosureBody = Partial<FromSchema<typeof closureBodySchema>>;
export type RequestedClosure = Omit<Closure, 'id' | 'createdAt' | 'lastUpdatedAt'>;

/**
 * `body` contains only the fields without an error in `routerErrors`. `facilities` are the facilities of the caller.
 * @throws {ApiError} 400 with every problem that was found
 */
export async function validateClosure(
  body: ClosureBody,
  routerErrors: readonly ValidationError[],
  facilities: readonly string[],
  catalogue: Catalogue,
): Promise<RequestedClosure> {
  const { bayIds, locationId, reason = null } = body;
  const { start, end, isReversed } = parseDates(body);
  const bays = await catalogue.findFacilities('bays', facilities, bayIds ?? []);
  const locations = await catalogue.findFacilities(
    'locations',
    facilities,
    locationId === undefined ? [] : [locationId],
  );
  const isPlaceReported = routerErrors.some(({ field }) => field === 'bayIds' || field === 'locationId');

  const rules: readonly (readonly [isViolated: boolean, field: string, hint: string])[] = [
    // This rule is only about equal times. An end before the start is ERR00010 (see below).
    [!isReversed && start !== undefined && start.getTime() === end?.getTime(), 'endDate', 'must be after startDate'],
    [bayIds !== undefined && locationId !== undefined, 'locationId', 'must be left out with bayIds'],
    [!bayIds && locationId === undefined && !isPlaceReported, 'bayIds', 'bayIds or locationId is needed'],
    [new Set(bays.values()).size > 1, 'bayIds', 'must be bays of one facility'],
    [locationId !== undefined && locations.size === 0, 'locationId', 'no location has this id'],
  ];
  const validationErrors = [...routerErrors];
  for (const [isViolated, field, hint] of rules) {
    const isReported = validationErrors.some((error) => error.field === field);
    if (isViolated && !isReported) validationErrors.push({ field, kind: 'invalid', hint });
  }
  const problems = problemsOf(validationErrors);
  if (isReversed) problems.push(problemOf('ERR00010'));
  // A bay is missing in `bays` if it does not exist or belongs to none of the caller's facilities.
  if (bays.size < new Set(bayIds).size) problems.push(problemOf('ERR00012', { field: 'bayIds' }));

  const [facilityId] = [...bays.values(), ...locations.values()];
  // If there are no problems, the other three values are defined. Only TypeScript needs these checks.
  if (problems.length > 0 || facilityId === undefined || !start || !end) throw badRequest(problems);
  return {
    facilityId,
    bayIds: bayIds ? [...new Set(bayIds)] : null,
    locationId: locationId ?? null,
    startDate: start.toISOString(),
    endDate: end.toISOString(),
    reason,
  };
}
