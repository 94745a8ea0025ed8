// Reads and writes holds. Transactions that create or extend a hold lock its bay, like those that create a booking.
import { hash } from 'node:crypto';
import {
  type Database,
  query,
  queryOne,
  Rollback,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import { type NewResponse, storeResponse } from '@bay-booking/service/idempotency';
import { revocationIdInSql } from '@bay-booking/service/revocations';
import { type Caller, ownerOf } from '../auth/caller.ts';
import type { EndedRight } from '../auth/revocations.ts';
import { lockBays, readBayStates, readClock } from '../availability/bay-states.ts';
import type { Bay } from '../availability/reservation.ts';
import { type Conflict, findConflicts } from '../availability/rule.ts';
import { findLikelyFacilities, isUuid } from '../database/tagged-id.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import { intervalOf, type Period } from '../time/interval.ts';
import { type Hold, holdSeconds } from './hold.ts';

/** PostgreSQL plans a statement with `any($1)` at every execution: 250 µs, not 60 µs as with `= $1`. */
const findHold = `select facility_id as "facilityId", id, bay_id as "bayId", start_date as "startDate",
  end_date as "endDate", expires_at as "expiresAt", created_at as "createdAt", correlation_id as "correlationId"
from booking_hold where facility_id = $1 and id = $2::uuid and subject = $3
  and expires_at > clock_timestamp()`;

/** Counts the live holds of an owner at a facility. */
const countHolds = `select count(*)::int as holds from booking_hold
where facility_id = $1 and subject = $2 and expires_at > clock_timestamp()`;

/**
 * Locks the row of an owner and facility, so that only one request at a time counts the holds and adds one. The update
 * changes no value. It is needed to lock a row that already exists.
 */
const lockOwner = `insert into booking_hold_client (id) values ($1)
on conflict (id) do update set id = excluded.id returning id`;

const insertHold = `insert into booking_hold (facility_id, id, bay_id, start_date, end_date, expires_at, created_at,
  correlation_id, client_id, subject, authorized_at)
values ($1, $2::uuid, $3, $4::timestamptz, $5::timestamptz, $6::timestamptz, $7::timestamptz, $8, $9, $10,
  to_timestamp($11::float8))`;

const lockHold = `select id, created_at as "createdAt", clock_timestamp()::timestamptz(3) as now from booking_hold
where facility_id = $1 and id = $2::uuid and expires_at > clock_timestamp() for no key update`;
const extendHold = 'update booking_hold set expires_at = $3::timestamptz where facility_id = $1 and id = $2::uuid';
const deleteHold = 'delete from booking_hold where facility_id = $1 and id = $2::uuid returning id';

/** Finds the live holds of the rights $1. */
const findHoldsOfRights = `select facility_id as "facilityId", id, account, access,
  extract(epoch from authorized_at)::float8 as "authorizedAt"
from (
  select facility_id, id, authorized_at,
    ${revocationIdInSql('account', 'subject')} as account,
    ${revocationIdInSql('access', 'subject', 'facility_id')} as access
  from booking_hold where expires_at > clock_timestamp()
) hold where account in (select unnest($1::text[])) or access in (select unnest($1::text[]))`;

const findExpired = 'select facility_id as "facilityId", id from booking_hold where expires_at <= now() limit $1';
const deleteHolds = 'delete from booking_hold where facility_id = $1 and id = any($2::uuid[]) returning id';

export type HoldStore = ReturnType<typeof createHoldStore>;

/** The maximum number of expired holds that are deleted at once. */
const deleteBatch = 1_000;

interface Count {
  readonly holds: number;
}

export function createHoldStore(db: Database) {
  return {
    find: async (id: string, caller: Caller): Promise<Hold | undefined> => {
      if (!isUuid(id)) return undefined;
      // A hold never moves to another facility than that of its id. Few facilities have the same tag.
      for (const facilityId of findLikelyFacilities(caller.facilities, id)) {
        const hold = await queryOne<Hold>(db, findHold, [facilityId, id, ownerOf(caller)]);
        if (hold) return hold;
      }
      return undefined;
    },

    now: () => readClock(db),

    /**
     * Returns every reason why the hold was not created. `response` is undefined if the request had no Idempotency-Key.
     */
    create: (hold: Hold, caller: Caller, maxHolds: number, response: NewResponse | undefined) =>
      transaction<readonly Conflict[]>(db, async (tx) => {
        const { facilityId, id, bayId, startDate, endDate, expiresAt, createdAt, correlationId } = hold;
        const owner = ownerOf(caller);
        await storeResponse(tx, response, hold);
        const [, [counted], , [bay]] = await Promise.all([
          query(tx, lockOwner, [ownerKey(owner, facilityId)]),
          query<Count>(tx, countHolds, [facilityId, owner]),
          lockBays(tx, facilityId, [bayId]),
          readBayStates(tx, facilityId, [{ bayId, times: hold }]),
        ]);
        const conflicts = [...findConflicts(bay, intervalOf(hold)), ...findExcess(counted, maxHolds)];
        if (conflicts.length > 0) throw new Rollback(conflicts);
        const times = [startDate, endDate, expiresAt, createdAt];
        const { clientId, issuedAt } = caller;
        send(tx, insertHold, [facilityId, id, bayId, ...times, correlationId, clientId, owner, issuedAt]);
        return [];
      }),

    /** Finds the conflicts of a request that has other errors too, so that the response can report all of them. */
    findConflicts: async ({ facilityId, bayId }: Bay, times: Period | undefined, caller: Caller, maxHolds: number) => {
      const [bay] = await readBayStates(db, facilityId, [{ bayId, times }]);
      const counted = await queryOne<Count>(db, countHolds, [facilityId, ownerOf(caller)]);
      return [...findConflicts(bay, times && intervalOf(times)), ...findExcess(counted, maxHolds)];
    },

    /**
     * Sets the expiry of a hold to `seconds` from now.
     * @throws {ApiError} 404 if the hold has expired or was deleted; 400 if it would last too long in total
     */
    extend: (hold: Hold, seconds: number): Promise<Hold> =>
      transaction(db, async (tx) => {
        const { facilityId, id, bayId } = hold;
        const [, [found]] = await Promise.all([
          lockBays(tx, facilityId, [bayId]),
          query<{ createdAt: string; now: string }>(tx, lockHold, [facilityId, id]),
        ]);
        if (!found) throw apiError('ERR00404');
        const expiry = Date.parse(found.now) + seconds * 1_000;
        if (expiry > Date.parse(found.createdAt) + holdSeconds.maxInTotal * 1_000) {
          const hint = 'a hold lasts 30 minutes in total at most';
          throw badRequest(problemsOf([{ field: 'holdSeconds', kind: 'invalid', hint }]));
        }
        const expiresAt = new Date(expiry).toISOString();
        send(tx, extendHold, [facilityId, id, expiresAt]);
        return { ...hold, expiresAt };
      }),

    /** Returns false if the hold does not exist. */
    delete: async ({ facilityId, id }: Hold): Promise<boolean> =>
      (await query(db, deleteHold, [facilityId, id])).length > 0,

    /** Deletes a batch of expired holds. Returns whether there may be more. */
    deleteExpired: async (): Promise<boolean> => {
      // An expired hold cannot be extended, so the expiry is not checked again when the hold is deleted.
      const expired = await query<HoldId>(db, findExpired, [deleteBatch]);
      await deleteAll(db, expired);
      return expired.length === deleteBatch;
    },
  };
}

type HoldId = Pick<Hold, 'facilityId' | 'id'>;

/** With one statement for each facility, because its rows are on one node of a distributed database. */
async function deleteAll(db: Database, holds: readonly HoldId[]): Promise<void> {
  for (const [facilityId, ofFacility] of Map.groupBy(holds, (hold) => hold.facilityId)) {
    const ids = ofFacility.map(({ id }) => id);
    await query(db, deleteHolds, [facilityId, ids]);
  }
}

/** Deletes the hold in the transaction that creates a booking with it. */
export function useHold(tx: Transaction, facilityId: string, id: string): void {
  send(tx, deleteHold, [facilityId, id]);
}

function findExcess(counted: Count | undefined, maxHolds: number): readonly Conflict[] {
  if (counted && counted.holds < maxHolds) return [];
  return [{ code: 'BOOK00004', moreInfo: `at most ${maxHolds} holds at a facility` }];
}

/** Returns the id of the row in booking_hold_client that is locked while this owner creates a hold at the facility. */
const ownerKey = (owner: string, facilityId: string): string =>
  hash('sha256', JSON.stringify([owner, facilityId]), 'base64url');

interface HoldOfRight extends HoldId {
  readonly account: string;
  readonly access: string;
  /** In seconds since 1970. */
  readonly authorizedAt: number;
}

/** Deletes the live holds whose owner was disabled, or lost its access to the facility, after they were created. */
export async function endHoldRights(db: Database, entries: readonly EndedRight[]): Promise<void> {
  const ended = new Map<string, number>();
  for (const { id, before } of entries) ended.set(id, Math.max(before, ended.get(id) ?? 0));
  const found = await query<HoldOfRight>(db, findHoldsOfRights, [[...ended.keys()]]);
  const holds = found.filter(({ account, access, authorizedAt }) =>
    [account, access].some((right) => authorizedAt < (ended.get(right) ?? 0)),
  );
  await deleteAll(db, holds);
}
