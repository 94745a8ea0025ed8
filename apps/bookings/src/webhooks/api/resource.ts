// Maps webhooks to the JSON of responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { Caller } from '../../auth/caller.ts';
import type { Webhook } from '../webhook.ts';

export function webhookPath({ id }: Pick<Webhook, 'id'>): string {
  return `/api/webhooks/${id}`;
}

export function namesAllFacilities(
  { facilities }: Pick<Caller, 'facilities'>,
  { facilityIds }: Pick<Webhook, 'facilityIds'>,
): boolean {
  return facilityIds.every((id) => facilities.includes(id));
}

/**
 * Leaves out owner and client, because only the owner can read the webhook. A token that names only some facilities of
 * the webhook may not know the others, nor the receiver.
 */
export function webhookResource(
  { owner: _owner, createdBy: _createdBy, ...webhook }: Webhook,
  caller: Pick<Caller, 'facilities'>,
  link: MakeLink,
) {
  const path = webhookPath(webhook);
  return {
    ...webhook,
    url: namesAllFacilities(caller, webhook) ? webhook.url : null,
    facilityIds: webhook.facilityIds.filter((id) => caller.facilities.includes(id)),
    _links: {
      self: link('GET', path),
      edit: link('PUT', path),
      delete: link('DELETE', path),
      rotate: link('POST', `${path}/rotate`),
      ping: link('POST', `${path}/ping`),
      replay: link('POST', `${path}/replay`),
      deliveries: link('GET', `${path}/deliveries`),
    },
  };
}

/** Adds the signing secret to the response to a registration or a rotation. No other response contains the secret. */
export function withSecret(response: EndpointResponse, secret: string): EndpointResponse {
  return { ...response, body: { ...(response.body as object), secret } };
}
