// Verifies webhooks of the Bookings API (https://www.standardwebhooks.com).
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { BookingItem } from './schemas.ts';

export { WebhookVerificationError };

interface Delivery<Type, Data> {
  /** The value of the header `webhook-id`. A delivery may be repeated: ignore an id that you have already processed. */
  readonly id: string;
  readonly type: Type;
  readonly timestamp: string;
  readonly data: Data;
}

export interface BookingEventData {
  readonly facilityId: string;
  /**
   * The change number. Deliveries may arrive in the wrong order: ignore a delivery whose number is lower than a number
   * that you have already received for this booking.
   */
  readonly modified: number;
  /** The booking after the change, or before the change if the booking was deleted. */
  readonly booking: BookingItem;
}

export type WebhookEvent =
  | Delivery<'booking.created' | 'booking.updated' | 'booking.deleted', BookingEventData>
  | Delivery<'webhook.ping', Readonly<Record<string, never>>>;

export interface ReceivedWebhook {
  /** The secret of the webhook. Pass the new and the old secret for 24 hours after a rotation. */
  readonly secret: string | readonly string[];
  /** Headers of a Fetch API request, or `request.headers` of Node. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The request body exactly as received. If JSON is parsed and serialised again, the signature does not match. */
  readonly body: string;
}

/**
 * Verifies a delivery and returns its event.
 * @throws {WebhookVerificationError} when no secret matches the signature, or when the timestamp of the delivery
 * differs from the current time by more than 5 minutes. The receiver should then respond with 400.
 */
export function verifyWebhook({ secret, headers, body }: ReceivedWebhook): WebhookEvent {
  const signed = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, headerOf(headers, name)]),
  );
  const secrets = typeof secret === 'string' ? [secret] : secret;
  for (const [index, candidate] of secrets.entries()) {
    try {
      // The body contains the event without `id`, which is only in a header.
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
