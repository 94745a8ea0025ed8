// Reads and writes the table idempotency_key, which has the first successful response for each Idempotency-Key.
import { type Database, errorCode, query } from '@bay-booking/service/database/database';
import type { Booking } from '../bookings/booking.ts';
import type { Run } from '../database/in-transaction.ts';

/** How long a response is stored (docs/behaviour.md, "Idempotency keys"). */
const lifetimeMilliseconds = 24 * 3_600_000;
/** The maximum number of responses that one statement deletes. */
const deleteBatch = 1_000;
/** The SQLSTATE of a statement that has waited too long for a lock. */
const lockTimeout = '55P03';

/**
 * Identifies a request with an Idempotency-Key. `id` is a hash of the client, its subject and the key. `requestHash` is
 * a hash of the body.
 */
export interface KeyedRequest {
  readonly id: string;
  readonly requestHash: string;
}

export interface NewResponse extends KeyedRequest {
  readonly response: string;
}

export interface StoredResponse {
  readonly requestHash: string;
  readonly facilityId: string;
  readonly response: string;
}

export const idempotencyStatements = {
  find: `select request_hash as "requestHash", facility_id as "facilityId", answer as response from idempotency_key
where id = $1 and created_at > $2::timestamptz`,

  /**
   * Stores a response, and replaces a response for the same key that was stored at $6 or earlier. Returns no row if the
   * table has a newer response for this key, which remains unchanged.
   */
  insert: `insert into idempotency_key (id, request_hash, facility_id, answer, created_at)
values ($1, $2, $3, $4, $5::timestamptz)
on conflict (id) do update set request_hash = excluded.request_hash, facility_id = excluded.facility_id,
  answer = excluded.answer, created_at = excluded.created_at
where idempotency_key.created_at <= $6::timestamptz
returning id`,

  findExpired: 'select id from idempotency_key where created_at <= $1::timestamptz limit $2',
  delete: 'delete from idempotency_key where id = any($1) and created_at <= $2::timestamptz returning id',
} as const;

export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

export function createIdempotencyStore(db: Database) {
  return {
    find: async (id: string, now: Date): Promise<StoredResponse | undefined> =>
      (await query<StoredResponse>(db, idempotencyStatements.find, [id, expiryLimit(now)]))[0],

    deleteExpired: async (now: Date): Promise<number> => {
      const before = expiryLimit(now);
      let deleted = 0;
      for (;;) {
        const expired = await query<{ id: string }>(db, idempotencyStatements.findExpired, [before, deleteBatch]);
        const ids = expired.map(({ id }) => id);
        // The second statement checks the time again, because a new response may have replaced an expired one
        // meanwhile.
        if (ids.length > 0) deleted += (await query(db, idempotencyStatements.delete, [ids, before])).length;
        if (ids.length < deleteBatch) return deleted;
      }
    },
  };
}

export type StoreResponseOutcome = 'stored' | 'key used' | 'key in progress';

/**
 * Stores the response in the transaction that creates the resource, so that either both exist or neither. Without
 * `newResponse`, stores nothing and returns 'stored'.
 *
 * Another transaction may have stored a response for the same key without having ended. This transaction then waits for
 * it, but for at most one second. If the other transaction is committed in this time, the outcome is 'key used'. If it
 * has not ended after this time, the outcome is 'key in progress', and PostgreSQL has aborted this transaction.
 */
export async function storeResponse(
  run: Run,
  newResponse: NewResponse | undefined,
  { facilityId, createdAt }: Pick<Booking, 'facilityId' | 'createdAt'>,
): Promise<StoreResponseOutcome> {
  if (!newResponse) return 'stored';
  const { id, requestHash, response } = newResponse;
  const values = [id, requestHash, facilityId, response, createdAt, expiryLimit(new Date(createdAt))];
  try {
    const [, inserted] = await run(
      ["set local lock_timeout = '1s'"],
      [idempotencyStatements.insert, values],
      // Only the insert has the short limit. Later statements of the transaction may wait longer for other locks.
      ['set local lock_timeout to default'],
    );
    return inserted?.length === 0 ? 'key used' : 'stored';
  } catch (error) {
    if (errorCode(error) === lockTimeout) return 'key in progress';
    throw error;
  }
}

/** Responses that were stored at this time or earlier have expired. */
function expiryLimit(now: Date): string {
  return new Date(now.getTime() - lifetimeMilliseconds).toISOString();
}
