// Checks the rules of a webhook that its JSON Schema cannot express: the URL and the facilities.
import type { ValidationError } from '@bay-booking/common/validation';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { FromSchema } from 'json-schema-to-ts';
import type { createWebhookSchema } from './schema.ts';

/** Invalid fields are left out. */
export type RequestedWebhook = Partial<FromSchema<typeof createWebhookSchema>>;

/**
 * `url` is undefined if the field is invalid, or if an update has no such field.
 *
 * `facilityIds` is the field of the request. If a registration has no such field, `facilityIds` are the facilities of
 * the token. Undefined if the field is invalid, or if an update has no such field.
 */
export function findWebhookErrors(
  url: string | undefined,
  facilityIds: readonly string[] | undefined,
  facilitiesOfToken: readonly string[],
  outbound: Pick<OutboundClient, 'urlError'>,
): readonly ValidationError[] {
  const errors: ValidationError[] = [];
  const urlError = url === undefined ? undefined : outbound.urlError(url);
  if (urlError !== undefined) errors.push({ field: 'url', kind: 'invalid', hint: urlError });
  // The schema does not allow an empty list in the request. An empty list therefore comes from the token.
  if (facilityIds?.length === 0)
    errors.push({ field: 'facilityIds', kind: 'invalid', hint: 'the token names no facility' });
  if (facilityIds?.some((id) => !facilitiesOfToken.includes(id)))
    errors.push({ field: 'facilityIds', kind: 'invalid', hint: 'must be facilities of the token' });
  return errors;
}
