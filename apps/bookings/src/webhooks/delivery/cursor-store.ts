// Reads and advances the cursors of webhooks. A cursor is the position of a webhook in the change feed of a facility.
import { type Database, query, send, transaction } from '@bay-booking/service/database/database';
import type { BookingEvent } from '../webhook.ts';
import { addDeliveries, type NewDelivery } from './delivery-store.ts';

/**
 * The maximum number of deliveries of a webhook and facility that wait for their first attempt. While the maximum is
 * reached, the cursor is not advanced, so no deliveries are added for further changes.
 */
const maxUnattempted = 1_000;

/**
 * An SQL condition for a row of webhook_cursor: fewer than `maxUnattempted` deliveries wait for their first attempt.
 * The inner `limit` ends the count at this maximum.
 */
const isBelowMaximum = `(select count(*) from (
    select from webhook_delivery
    where webhook_delivery.webhook_id = webhook_cursor.webhook_id and state = 'pending' and attempts = 0
      and webhook_delivery.facility_id = webhook_cursor.facility_id limit ${maxUnattempted}
  ) unattempted) < ${maxUnattempted}`;

const statements = {
  findActive: `select webhook_id as "webhookId", facility_id as "facilityId", number::float8 as number,
  replay_number::float8 as "replayNumber", replay_until::float8 as "replayUntil", events
from webhook_cursor join webhook on webhook.id = webhook_id
where webhook.state = 'active' and seen_at > $1::timestamptz and ${isBelowMaximum}`,
  /** Must run before `advance` and `advanceReplay`. This order of locks prevents deadlocks (see delivery-store.ts). */
  lockWebhook: 'select id from webhook where id = $1 for key share',
  /**
   * Moves the cursor from change number $3 to $4. Returns no row if another instance has already moved the cursor, or
   * if the maximum number of deliveries (1000) wait for their first attempt.
   */
  advance: `update webhook_cursor set number = $4
where webhook_id = $1 and facility_id = $2 and number = $3 and ${isBelowMaximum} returning number`,
  /**
   * Moves the replay from change number $3 to $4, and removes the replay if $4 is its end. Returns no row in the same
   * cases as `advance`.
   */
  advanceReplay: `update webhook_cursor set replay_number = case when $4 < replay_until then $4 end,
  replay_until = case when $4 < replay_until then replay_until end
where webhook_id = $1 and facility_id = $2 and replay_number = $3 and ${isBelowMaximum} returning number`,
  /**
   * Starts a replay of the changes after number $3, up to number $4. If an earlier replay has not ended and its
   * position is lower than $3, the new replay begins at that position.
   */
  startReplay: `update webhook_cursor set replay_number = least(replay_number, $3), replay_until = $4
where webhook_id = $1 and facility_id = $2`,
} as const;

export interface Cursor {
  readonly webhookId: string;
  readonly facilityId: string;
  /** Deliveries were added for all changes up to the change with this number. */
  readonly number: number;
  /**
   * Deliveries of the replay were added for all changes up to the change with this number. Null if there is no replay.
   */
  readonly replayNumber: number | null;
  /** The replay ends with the change of this number. Null if there is no replay. */
  readonly replayUntil: number | null;
  readonly events: readonly BookingEvent[];
}

export interface CursorMove {
  readonly from: number;
  readonly to: number;
  /** Whether the move changes the field `replayNumber` of the cursor, and not `number`. */
  readonly isReplay: boolean;
}

export type CursorStore = ReturnType<typeof createCursorStore>;

export function createCursorStore(db: Database) {
  return {
    /**
     * Returns the cursors of active webhooks whose client has sent a request with a token for the facility since
     * `leaseStart` (see lease.ts). Leaves out a cursor while the maximum number of its deliveries (1000) wait for their
     * first attempt.
     */
    findActive: (leaseStart: Date) => query<Cursor>(db, statements.findActive, [leaseStart.toISOString()]),

    /** Moves the cursor and adds deliveries in one transaction. Returns false if the cursor could not be moved. */
    advance: (
      { webhookId, facilityId }: Pick<Cursor, 'webhookId' | 'facilityId'>,
      { from, to, isReplay }: CursorMove,
      deliveries: readonly NewDelivery[],
      now: Date,
    ): Promise<boolean> =>
      transaction(db, async (tx) => {
        const statement = isReplay ? statements.advanceReplay : statements.advance;
        send(tx, statements.lockWebhook, [webhookId]);
        const moved = await query(tx, statement, [webhookId, facilityId, from, to]);
        if (moved.length === 0) return false;
        if (deliveries.length > 0) addDeliveries(tx, webhookId, deliveries, now);
        return true;
      }),

    /**
     * Starts a replay, which sends again every change whose number is higher than `number` and not higher than `until`.
     */
    startReplay: async (webhookId: string, facilityId: string, number: number, until: number): Promise<void> => {
      await query(db, statements.startReplay, [webhookId, facilityId, number, until]);
    },
  };
}
