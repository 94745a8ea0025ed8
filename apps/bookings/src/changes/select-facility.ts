// Selects the facility of a request that reads changes.
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { tokenError } from '../auth/challenges.ts';
import { badRequest, problemsOf } from '../errors.ts';

/**
 * Returns `facilityId` of the query, or the only facility of the token.
 * @throws {ApiError} 400 with all validation errors, 403 if the token names no facility
 */
export function selectFacility(
  { facilityId }: { readonly facilityId?: string },
  validationErrors: readonly ValidationError[],
  { facilities, scheme }: Caller,
  baseUrl: string,
): string {
  if (facilities.length === 0)
    throw tokenError(baseUrl, { scheme, error: 'insufficient_scope', reason: 'The token names no facility.' });
  const errors = [...validationErrors];
  const isFacilityIdValid = !errors.some(({ field }) => field === 'facilityId');
  const selected = facilityId ?? (facilities.length === 1 ? facilities[0] : undefined);
  if (isFacilityIdValid && selected === undefined) errors.push({ field: 'facilityId', kind: 'missing', hint: '' });
  if (selected !== undefined && !facilities.includes(selected)) {
    errors.push({ field: 'facilityId', kind: 'invalid', hint: 'must be a facility of the token' });
  }
  if (errors.length > 0 || selected === undefined) throw badRequest(problemsOf(errors));
  return selected;
}
