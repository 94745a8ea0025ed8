// Defines webhooks and their deliveries, derives the JSON of a webhook and creates signing secrets.
import { randomBytes } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { Caller } from '../auth/caller.ts';

export const bookingEvents = ['booking.created', 'booking.updated', 'booking.deleted'] as const;
export type BookingEvent = (typeof bookingEvents)[number];
export type EventType = BookingEvent | 'webhook.ping';

/** The client can pause a webhook. The service disables a webhook whose attempts fail for a long time or get a 410. */
export const webhookStates = ['active', 'paused', 'disabled'] as const;
export type WebhookState = (typeof webhookStates)[number];

/** A delivery is `pending` until an attempt succeeds (`delivered`) or the service makes no more attempts (`failed`). */
export const deliveryStates = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** Times are ISO 8601 strings in UTC with milliseconds. */
export interface Webhook {
  readonly id: string;
  readonly owner: string;
  /** The client that may rotate the secret and change the URL. Null: every personal access token of the owner. */
  readonly createdBy: string | null;
  readonly url: string;
  readonly events: readonly BookingEvent[];
  readonly facilityIds: readonly string[];
  readonly description: string | null;
  readonly state: WebhookState;
  /** Why the service has paused the webhook. */
  readonly pausedBecause: string | null;
  /** The time of the first failed attempt since the last successful attempt. */
  readonly failingSince: string | null;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

export interface WebhookDelivery {
  readonly id: string;
  readonly type: EventType;
  /** The facility of the booking. Null for a ping. */
  readonly facilityId: string | null;
  /** Null for a ping. */
  readonly bookingId: string | null;
  /** The number of the change in the change feed. Null for a ping. */
  readonly modified: number | null;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The HTTP status of the last attempt. Null if there was no response. */
  readonly lastStatus: number | null;
  /** Why there was no response to the last attempt. */
  readonly lastError: string | null;
  readonly lastAttemptAt: string | null;
  /** Null unless the delivery is pending. */
  readonly nextAttemptAt: string | null;
}

/** Of one owner. */
export const maxWebhooksAtFacility = 20;

/** Creates a signing secret in the format that Standard Webhooks prescribes. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export const webhookPath = ({ id }: Pick<Webhook, 'id'>): string => `/api/webhooks/${id}`;

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
