// Starts a receiver of webhooks that keeps the latest event of each booking, as the system of a partner does.
import { startWebhookReceiver, verifySignature } from '@bay-booking/testkit/webhook-receiver';

/** The environment variables that an instance of bookings needs to deliver webhooks to this machine. */
export const webhookEnvironment = {
  WEBHOOK_KEY: Buffer.alloc(32, 'webhooks').toString('base64'),
  WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
};

export interface LatestEvent {
  /** The change number, which rises with every change in a facility. */
  readonly modified: number;
  readonly isDeleted: boolean;
  readonly booking: Readonly<Record<string, unknown>>;
}

export type BookingReceiver = Awaited<ReturnType<typeof startBookingReceiver>>;

export async function startBookingReceiver() {
  const receiver = await startWebhookReceiver();
  const latest = new Map<string, LatestEvent>();
  const created = new Map<string, Set<number>>();
  let secret = '';
  const acceptEvents = (): void =>
    receiver.respondWith((_request, response, received) => {
      const { type, data } = received.event;
      const { facilityId, modified = 0, booking } = data;
      try {
        verifySignature(received, secret);
      } catch {
        // The event is not stored, which makes the test fail.
        return void response.writeHead(400).end();
      }
      response.writeHead(204).end();
      // Only a ping has no booking.
      if (!booking) return;
      const key = `${facilityId} ${booking.id}`;
      if (type === 'booking.created') created.set(key, (created.get(key) ?? new Set()).add(modified));
      // Events can arrive late or twice, so only an event that is not older than the stored one is stored.
      if ((latest.get(key)?.modified ?? 0) <= modified)
        latest.set(key, { modified, isDeleted: type === 'booking.deleted', booking });
    });
  acceptEvents();
  return {
    ...receiver,
    /**
     * The latest accepted event of each booking, which is the event with the highest change number. The key is
     * `FACILITY BOOKING`, with the ids of the facility and the booking.
     */
    latest,
    /** The numbers of the changes that were accepted as `booking.created`. The keys are as in `latest`. */
    created,
    /** Sets the secret of the webhook, with which the receiver verifies the signatures. */
    setSecret: (text: string) => {
      secret = text;
    },
    /** Ends the effect of `respondWith`. */
    acceptEvents,
  };
}
