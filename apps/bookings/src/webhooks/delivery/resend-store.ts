// Sends one delivery again, with the current state of its booking.
import { type Database, query, queryOne, Rollback, transaction } from '@bay-booking/service/database/database';
import { type FeedStore, findLatestChange } from '../../changes/feed/store.ts';
import type { BookingState } from '../../changes/log.ts';
import type { WebhookDelivery } from '../webhook.ts';
import { countReplayed } from './cursor-store.ts';
import { type DeliveryFilter, ofFacilities } from './delivery-store.ts';
import { eventBody } from './feeder.ts';

const statements = {
  find: `select type, facility_id as "facilityId", booking_id as "bookingId" from webhook_delivery
where ${ofFacilities} and id = $4`,
  /** Keeps the number of attempts, so that a delivery that has failed for good gets one more attempt. */
  resend: `update webhook_delivery set type = $3, modified = $4, body = $5, state = 'pending', next_attempt_at = $6
where id = $2 and webhook_id = $1`,
};

type Sent = Pick<WebhookDelivery, 'type' | 'modified'> & { readonly body: string };

export interface ResendOptions {
  readonly db: Database;
  readonly feed: Pick<FeedStore, 'numberChanges'>;
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
}

/** Returns 'unknown' if the delivery does not exist, or a time if the webhook has sent too many events until then. */
export type Resend = ReturnType<typeof createResend>;

export function createResend({ db, feed, bookingItem }: ResendOptions) {
  return async ({ webhookId, facilityIds, hasPings }: DeliveryFilter, id: string, at: Date) => {
    // `modified` of the event is the number of the latest change.
    await feed.numberChanges(facilityIds);
    return transaction<'added' | 'unknown' | Date>(db, async (tx) => {
      // Locks the webhook, so that an erasure waits for the new body, or this transaction reads what the erasure left.
      const retryAt = await countReplayed(tx, webhookId, 1, at);
      if (retryAt) return retryAt;
      type Found = Pick<WebhookDelivery, 'type' | 'facilityId' | 'bookingId'>;
      const found = await queryOne<Found>(tx, statements.find, [webhookId, facilityIds, hasPings, id]);
      const sent = found && (await render(found));
      if (!sent) throw new Rollback('unknown');
      const values = [webhookId, id, sent.type, sent.modified, sent.body, at.toISOString()];
      await query(tx, statements.resend, values);
      return 'added';

      async function render({ type, facilityId, bookingId }: Found): Promise<Sent | undefined> {
        if (type === 'webhook.ping')
          return { type, modified: null, body: JSON.stringify({ type, timestamp: at.toISOString(), data: {} }) };
        const change = facilityId && bookingId && (await findLatestChange(tx, facilityId, bookingId));
        if (!change) return undefined;
        // A booking that came back to the facility was deleted there before.
        const typeOfExisting = type === 'booking.deleted' ? 'booking.updated' : type;
        const current = change.isDeleted ? 'booking.deleted' : typeOfExisting;
        const body = eventBody(current, facilityId, change, bookingItem, at);
        return body === undefined ? undefined : { type: current, modified: change.number, body };
      }
    });
  };
}
