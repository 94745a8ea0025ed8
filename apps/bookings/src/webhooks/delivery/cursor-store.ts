// Reads and writes the table webhook_cursor: for each facility of a webhook, its position in the change feed.
import {
  type Database,
  query,
  queryOne,
  Rollback,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import { erasedText } from '../../changes/log.ts';
import { isDisabledFacility } from '../disabled-store.ts';
import type { BookingEvent } from '../webhook.ts';
import { addDeliveries, type NewDelivery } from './delivery-store.ts';

/** The maximum number of deliveries of a webhook and facility that wait for their first attempt. */
const maxUnattempted = 1_000;
/** The maximum number of events that the replays of a webhook send in an hour. */
export const maxReplayedEvents = 10_000;
const minute = 60_000;
const hour = 60 * minute;

/** A condition for a row of webhook_cursor. While it is false, the cursor does not move. */
const isBelowMaximum = `(select count(*) from (
    select from webhook_delivery
    where webhook_delivery.webhook_id = webhook_cursor.webhook_id and state = 'pending' and attempts = 0
      and webhook_delivery.facility_id = webhook_cursor.facility_id limit ${maxUnattempted}
  ) unattempted) < ${maxUnattempted}`;

/** A condition for a row of webhook_cursor and its webhook. */
const canMove = `webhook.state = 'active' and not ${isDisabledFacility('webhook_cursor.facility_id')} and ${isBelowMaximum}`;

const statements = {
  findActive: `select webhook_id as "webhookId", facility_id as "facilityId", number::float8 as number, events
from webhook_cursor join webhook on webhook.id = webhook_id
where ${canMove}`,
  findReplays: `select webhook_id as "webhookId", facility_id as "facilityId", number::float8 as number, events,
  replay_number::float8 as "replayNumber", replay_until::float8 as "replayUntil", replay_from::float8 as "replayFrom"
from webhook_cursor join webhook on webhook.id = webhook_id
where replay_number is not null and ${canMove}`,
  /** Must run before `advance` and `advanceReplay`. This order of locks prevents deadlocks (see delivery-store.ts). */
  lockWebhook: 'select id from webhook where id = $1 for key share',
  /**
   * Returns a row if one of the changes $2, which had personal data when the feeder read them, was erased meanwhile. An
   * erasure locks the webhooks, so this statement sees it, or the erasure sees the new deliveries.
   */
  findErased: `select from booking_change where facility_id = $1 and number = any($2::bigint[])
  and coalesce(after, before) ->> 'userAlias' = '${erasedText}' limit 1`,
  /** Returns no row if another instance has already moved the cursor, or if too many deliveries wait. */
  advance: `update webhook_cursor set number = $4
where webhook_id = $1 and facility_id = $2 and number = $3 and ${isBelowMaximum} returning number`,
  /** Also removes a replay that has reached its end. */
  advanceReplay: `update webhook_cursor set replay_number = case when $4 < replay_until then $4 end,
  replay_until = case when $4 < replay_until then replay_until end
where webhook_id = $1 and facility_id = $2 and replay_number = $3 and ${isBelowMaximum} returning number`,
  /**
   * Counts $2 events of a replay. The first event after an hour begins the next hour. Returns no row if the events of
   * the hour would be more than the maximum.
   */
  countReplayed: `update webhook set
  replayed_events = $2 + case when replay_since > $3::timestamptz - interval '1 hour' then replayed_events else 0 end,
  replay_since = case when replay_since > $3::timestamptz - interval '1 hour' then replay_since else $3 end
where id = $1 and (replayed_events + $2 <= ${maxReplayedEvents}
  or coalesce(replay_since, '-infinity') <= $3::timestamptz - interval '1 hour') returning id`,
  findReplaySince: 'select replay_since as since from webhook where id = $1',
  findReplayStart: `select replay_from::float8 as "from" from webhook_cursor
where webhook_id = $1 and facility_id = $2 and replay_next = $3`,
  /**
   * Extends an earlier replay that has not ended. Returns no row if changes between the two would be sent too.
   */
  startReplay: `update webhook_cursor
set replay_number = least(replay_number, $3), replay_until = greatest(replay_until, $4),
  replay_from = case when replay_number is null then $5 else least(replay_from, $5) end, replay_next = $6
where webhook_id = $1 and facility_id = $2 and (replay_number is null or (replay_number <= $4 and replay_until >= $3))
returning facility_id`,
  add: `insert into webhook_cursor (webhook_id, facility_id, number)
select $1, facility_id, number from unnest($2::text[], $3::bigint[]) as added (facility_id, number)
on conflict (webhook_id, facility_id) do nothing`,
  reset: `update webhook_cursor set number = added.number
from unnest($2::text[], $3::bigint[]) as added (facility_id, number)
where webhook_id = $1 and webhook_cursor.facility_id = added.facility_id`,
  remove: 'delete from webhook_cursor where webhook_id = $1 and facility_id <> all($2::text[])',
} as const;

export interface Cursor {
  readonly webhookId: string;
  readonly facilityId: string;
  /** Every change up to this number has its delivery. */
  readonly number: number;
  readonly events: readonly BookingEvent[];
}

type CursorId = Pick<Cursor, 'webhookId' | 'facilityId'>;

export interface Replay extends Cursor {
  /** The replay sends the changes after this number. */
  readonly replayNumber: number;
  /** The last change of the replay. */
  readonly replayUntil: number;
  /** The receiver does not know bookings that came to the facility after this number. */
  readonly replayFrom: number;
}

export interface NewReplay {
  readonly from: number;
  /** The change numbers between which the replay sends the changes. */
  readonly after: number;
  readonly until: number;
  /** The number after which the next replay continues this one. */
  readonly next: number | null;
  readonly events: number;
}

export interface CursorMove {
  readonly from: number;
  readonly to: number;
  readonly isReplay: boolean;
  /** The numbers of the changes whose booking is not erased. */
  readonly personal: readonly number[];
}

export type CursorStore = ReturnType<typeof createCursorStore>;

export function createCursorStore(db: Database) {
  return {
    /** Returns the cursors that can move. */
    findActive: () => query<Cursor>(db, statements.findActive),

    findReplays: () => query<Replay>(db, statements.findReplays),

    /** Moves the cursor and adds deliveries in one transaction. Returns false if the cursor could not be moved. */
    advance: (
      { webhookId, facilityId }: CursorId,
      { from, to, isReplay, personal }: CursorMove,
      deliveries: readonly NewDelivery[],
      now: Date,
    ): Promise<boolean> =>
      transaction(db, async (tx) => {
        const statement = isReplay ? statements.advanceReplay : statements.advance;
        send(tx, statements.lockWebhook, [webhookId]);
        const [moved, erased] = await Promise.all([
          query(tx, statement, [webhookId, facilityId, from, to]),
          query(tx, statements.findErased, [facilityId, personal]),
        ]);
        if (moved.length === 0 || erased.length > 0) throw new Rollback(false);
        if (deliveries.length > 0) addDeliveries(tx, webhookId, deliveries, now);
        return true;
      }),

    /** Returns where the replay began that a replay after the number `after` continues, else `after`. */
    findReplayStart: async ({ webhookId, facilityId }: CursorId, after: number): Promise<number> => {
      const values = [webhookId, facilityId, after];
      return (await queryOne<{ from: number }>(db, statements.findReplayStart, values))?.from ?? after;
    },

    /**
     * Sends changes again, which are `events` events. Returns undefined, or when the client should try again if there
     * are too many.
     */
    startReplay: ({ webhookId, facilityId }: CursorId, { from, after, until, next, events }: NewReplay, now: Date) =>
      transaction(db, async (tx) => {
        const retryAt = await countReplayed(tx, webhookId, events, now);
        if (retryAt) return retryAt;
        const started = await query(tx, statements.startReplay, [webhookId, facilityId, after, until, from, next]);
        if (started.length === 0) throw new Rollback(new Date(now.getTime() + minute));
        return undefined;
      }),
  };
}

/**
 * Counts events that a webhook gets again and locks the webhook. Returns when the client should try again if there are
 * too many.
 */
export async function countReplayed(tx: Transaction, webhookId: string, events: number, now: Date) {
  const counted = await query(tx, statements.countReplayed, [webhookId, events, now.toISOString()]);
  if (counted.length > 0) return undefined;
  const row = await queryOne<{ since: string }>(tx, statements.findReplaySince, [webhookId]);
  return new Date(Date.parse(row?.since ?? now.toISOString()) + hour);
}

/** Adds a cursor for each facility that has none. `latest` maps facilities to the positions of the new cursors. */
export function addCursors(tx: Transaction, webhookId: string, latest: ReadonlyMap<string, number>): void {
  send(tx, statements.add, [webhookId, [...latest.keys()], [...latest.values()]]);
}

export function resetCursors(tx: Transaction, webhookId: string, latest: ReadonlyMap<string, number>): void {
  send(tx, statements.reset, [webhookId, [...latest.keys()], [...latest.values()]]);
}

/** Removes the cursors of all other facilities. */
export function removeCursors(tx: Transaction, webhookId: string, facilityIds: readonly string[]): void {
  send(tx, statements.remove, [webhookId, facilityIds]);
}
