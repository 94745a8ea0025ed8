// Checks the rules of a webhook that its JSON Schema cannot express: the address and the facilities.
import type { ValidationError } from '@bay-booking/common/validation';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { BookingEvent } from './webhook.ts';

export interface RequestedWebhook {
  readonly url?: string;
  readonly events?: readonly BookingEvent[];
  readonly facilityIds?: readonly string[];
  readonly description?: string;
}

/**
 * `facilityIds` are the facilities of the request or, by default, of the token. The request itself cannot contain an
 * empty list. `facilityIds` is undefined if the field of the request is invalid, or if an update does not contain it.
 */
export function findWebhookErrors(
  url: string | undefined,
  facilityIds: readonly string[] | undefined,
  facilitiesOfToken: readonly string[],
  client: Pick<OutboundClient, 'urlError'>,
): readonly ValidationError[] {
  const errors: ValidationError[] = [];
  const urlError = url === undefined ? undefined : client.urlError(url);
  if (urlError !== undefined) errors.push({ field: 'url', kind: 'invalid', hint: urlError });
  if (facilityIds?.length === 0)
    errors.push({ field: 'facilityIds', kind: 'invalid', hint: 'the token names no facility' });
  if (facilityIds?.some((id) => !facilitiesOfToken.includes(id)))
    errors.push({ field: 'facilityIds', kind: 'invalid', hint: 'must be facilities of the token' });
  return errors;
}
