// Maps a webhook to the JSON of responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { contentEtag } from '../http/etag.ts';
import type { Webhook } from './webhook.ts';

export function webhookPath({ id }: Pick<Webhook, 'id'>): string {
  return `/api/webhooks/${id}`;
}

export function webhookResource({ clientId: _clientId, ...webhook }: Webhook, link: MakeLink) {
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

export function webhookEtag(webhook: Webhook, link: MakeLink): string {
  return contentEtag(webhookResource(webhook, link));
}

/** `secret` is given only after a registration or a rotation. */
export function webhookResponse(status: number, webhook: Webhook, link: MakeLink, secret?: string): EndpointResponse {
  return {
    status,
    body: { ...webhookResource(webhook, link), ...(secret !== undefined && { secret }) },
    headers: { ETag: `"${webhookEtag(webhook, link)}"` },
  };
}
