// Verifies deliveries of webhooks (https://www.standardwebhooks.com).
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { Actor, BookingItem } from './schemas.ts';

export { WebhookVerificationError };

interface Delivery<Type, Data> {
  /** A delivery may be repeated. Ignore an id that you have already processed. */
  readonly id: string;
  readonly type: Type;
  readonly timestamp: string;
  readonly data: Data;
}

export interface BookingEventData {
  readonly facilityId: string;
  /** Deliveries may arrive in the wrong order. Ignore a number that is lower than an earlier number of this booking. */
  readonly modified: number;
  readonly actor: Actor;
  /** The booking after the change, or before the change if the booking was deleted. */
  readonly booking: BookingItem;
}

export type WebhookEvent =
  | Delivery<'booking.created' | 'booking.updated' | 'booking.deleted', BookingEventData>
  | Delivery<'webhook.ping', Readonly<Record<string, never>>>;

export interface ReceivedWebhook {
  /** For 24 hours after a rotation, pass the new and the old secret. */
  readonly secret: string | readonly string[];
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body exactly as received, because the signature covers its bytes. */
  readonly body: string;
}

/** @throws {WebhookVerificationError} if no secret matches or the timestamp differs by more than 5 minutes */
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
