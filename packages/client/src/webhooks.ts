// Verifies webhooks of the Bookings API (https://www.standardwebhooks.com).
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { BookingItem } from './schemas.ts';

export { WebhookVerificationError };

interface Delivery<Type, Data> {
  /** The `webhook-id`. Deliveries may be repeated: ignore an id that you have processed before. */
  readonly id: string;
  readonly type: Type;
  readonly timestamp: string;
  readonly data: Data;
}

export interface BookingEventData {
  readonly facilityId: string;
  /** The change number. Deliveries may overtake each other: ignore a number below the last one of this booking. */
  readonly modified: number;
  /** The booking after the change, or before it was deleted. */
  readonly booking: BookingItem;
}

export type WebhookEvent =
  | Delivery<'booking.created' | 'booking.updated' | 'booking.deleted', BookingEventData>
  | Delivery<'webhook.ping', Readonly<Record<string, never>>>;

export interface ReceivedWebhook {
  /** The secret of the webhook. During a rotation, both secrets. */
  readonly secret: string | readonly string[];
  /** Headers of a Fetch API request, or `request.headers` of Node. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body exactly as it arrived. JSON that was parsed and written again does not match the signature. */
  readonly body: string;
}

/**
 * Returns the event of a delivery.
 * @throws {WebhookVerificationError} when no secret matches the signature, or when the delivery is more than 5 minutes
 * old. Respond with 400 then.
 */
export function verifyWebhook({ secret, headers, body }: ReceivedWebhook): WebhookEvent {
  const signed = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, headerOf(headers, name)]),
  );
  const secrets = typeof secret === 'string' ? [secret] : secret;
  for (const [index, candidate] of secrets.entries()) {
    try {
      const event = new Webhook(candidate).verify(body, signed) as Omit<WebhookEvent, 'id'>;
      return { ...event, id: signed['webhook-id'] } as WebhookEvent;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError) || index === secrets.length - 1) throw error;
    }
  }
  throw new TypeError('secret is an empty array');
}

function headerOf(headers: ReceivedWebhook['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : '';
}
