// Reads and writes the table webhook_cursor: for each facility of a webhook, its position in the change feed and its
// lease (lease.ts).
import {
  type Database,
  query,
  Rollback,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import type { BookingEvent } from '../webhook.ts';
import { addDeliveries, type NewDelivery } from './delivery-store.ts';

/** The maximum number of deliveries of a webhook and facility that wait for their first attempt. */
const maxUnattempted = 1_000;

/** A condition for a row of webhook_cursor. While it is false, the cursor does not move. */
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
   * Returns a row if one of the bookings $2 was erased after the feeder had read the changes up to the number $3. An
   * erasure locks the webhooks, so this statement sees it, or the erasure sees the new deliveries.
   */
  findErased: `select from booking_change where facility_id = $1 and booking_id = any($2::uuid[]) and action = 'erased'
  and (number is null or number > $3) limit 1`,
  /** Returns no row if another instance has already moved the cursor, or if too many deliveries wait. */
  advance: `update webhook_cursor set number = $4
where webhook_id = $1 and facility_id = $2 and number = $3 and ${isBelowMaximum} returning number`,
  /** Also removes a replay that has reached its end. */
  advanceReplay: `update webhook_cursor set replay_number = case when $4 < replay_until then $4 end,
  replay_until = case when $4 < replay_until then replay_until end
where webhook_id = $1 and facility_id = $2 and replay_number = $3 and ${isBelowMaximum} returning number`,
  /** Continues an earlier replay whose position is lower. */
  startReplay: `update webhook_cursor set replay_number = least(replay_number, $3), replay_until = $4
where webhook_id = $1 and facility_id = $2`,
  add: `insert into webhook_cursor (webhook_id, facility_id, number, seen_at)
select $1, facility_id, number, $4 from unnest($2::text[], $3::bigint[]) as added (facility_id, number)
on conflict (webhook_id, facility_id) do nothing`,
  reset: `update webhook_cursor set number = added.number
from unnest($2::text[], $3::bigint[]) as added (facility_id, number)
where webhook_id = $1 and webhook_cursor.facility_id = added.facility_id`,
  remove: 'delete from webhook_cursor where webhook_id = $1 and facility_id <> all($2::text[])',
  renewLeases: `update webhook_cursor set seen_at = $3 from webhook
where webhook.id = webhook_id and client_id = $1 and facility_id = any($2::text[]) and seen_at < $3`,
} as const;

export interface Cursor {
  readonly webhookId: string;
  readonly facilityId: string;
  /** Every change up to this number has its delivery. */
  readonly number: number;
  /** The replay sends the changes after this number. Null without a replay. */
  readonly replayNumber: number | null;
  /** The last change of the replay. Null without a replay. */
  readonly replayUntil: number | null;
  readonly events: readonly BookingEvent[];
}

export interface CursorMove {
  readonly from: number;
  readonly to: number;
  readonly isReplay: boolean;
  readonly bookingIds: readonly string[];
}

export type CursorStore = ReturnType<typeof createCursorStore>;

export function createCursorStore(db: Database) {
  return {
    /** Returns the cursors whose lease has not ended (see lease.ts) and that can move. */
    findActive: (leaseStart: Date) => query<Cursor>(db, statements.findActive, [leaseStart.toISOString()]),

    /** Moves the cursor and adds deliveries in one transaction. Returns false if the cursor could not be moved. */
    advance: (
      { webhookId, facilityId }: Pick<Cursor, 'webhookId' | 'facilityId'>,
      { from, to, isReplay, bookingIds }: CursorMove,
      deliveries: readonly NewDelivery[],
      now: Date,
    ): Promise<boolean> =>
      transaction(db, async (tx) => {
        const statement = isReplay ? statements.advanceReplay : statements.advance;
        send(tx, statements.lockWebhook, [webhookId]);
        const [moved, erased] = await Promise.all([
          query(tx, statement, [webhookId, facilityId, from, to]),
          query(tx, statements.findErased, [facilityId, bookingIds, to]),
        ]);
        if (moved.length === 0 || erased.length > 0) throw new Rollback(false);
        if (deliveries.length > 0) addDeliveries(tx, webhookId, deliveries, now);
        return true;
      }),

    /** Sends again every change after `number`, up to `until`. */
    startReplay: async (webhookId: string, facilityId: string, number: number, until: number): Promise<void> => {
      await query(db, statements.startReplay, [webhookId, facilityId, number, until]);
    },

    renewLeases: async (clientId: string, facilities: readonly string[], at: Date): Promise<void> => {
      await query(db, statements.renewLeases, [clientId, facilities, at.toISOString()]);
    },
  };
}

/** Adds a cursor for each facility that has none. `latest` maps facilities to the positions of the new cursors. */
export function addCursors(tx: Transaction, webhookId: string, latest: ReadonlyMap<string, number>, at: string): void {
  send(tx, statements.add, [webhookId, [...latest.keys()], [...latest.values()], at]);
}

export function resetCursors(tx: Transaction, webhookId: string, latest: ReadonlyMap<string, number>): void {
  send(tx, statements.reset, [webhookId, [...latest.keys()], [...latest.values()]]);
}

/** Removes the cursors of all other facilities. */
export function removeCursors(tx: Transaction, webhookId: string, facilityIds: readonly string[]): void {
  send(tx, statements.remove, [webhookId, facilityIds]);
}
