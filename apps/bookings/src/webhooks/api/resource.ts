// Maps webhooks to the JSON of responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { Webhook } from '../webhook.ts';

export function webhookPath({ id }: Pick<Webhook, 'id'>): string {
  return `/api/webhooks/${id}`;
}

/** Leaves out owner and client, because only the owner can read the webhook. */
export function webhookResource({ owner: _owner, clientId: _clientId, ...webhook }: Webhook, link: MakeLink) {
  const path = webhookPath(webhook);
  return {
    ...webhook,
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
