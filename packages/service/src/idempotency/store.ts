// Reads and writes the table idempotency_key, which has the first successful response for each Idempotency-Key.
import { type Database, errorCode, type Queryable, query, send, type Transaction } from '../database/database.ts';

/** How long a response is stored (docs/behaviour.md, "Idempotency keys"). */
const lifetimeMilliseconds = 24 * 3_600_000;
const deleteBatch = 1_000;
const lockTimeout = '55P03';

/** The hash of the client, its subject and the key, and the hash of the body. */
export interface KeyedRequest {
  readonly id: string;
  readonly requestHash: string;
}

export interface NewResponse extends KeyedRequest {
  readonly response: string;
}

export type StoredResponse = Pick<NewResponse, 'requestHash' | 'response'> & { readonly facilityId: string };

const findResponse = `select request_hash as "requestHash", facility_id as "facilityId", answer as response
from idempotency_key where id = $1 and created_at > $2::timestamptz`;

/** Replaces a response that was stored at $6 or earlier. Returns no row if there is a newer response for this key. */
const insertResponse = `insert into idempotency_key (id, request_hash, facility_id, answer, created_at)
values ($1, $2, $3, $4, $5::timestamptz)
on conflict (id) do update set request_hash = excluded.request_hash, facility_id = excluded.facility_id,
  answer = excluded.answer, created_at = excluded.created_at
where idempotency_key.created_at <= $6::timestamptz
returning id`;

const findExpired = 'select id from idempotency_key where created_at <= $1::timestamptz limit $2';
/** Checks the time again, because a new response may have replaced an expired one meanwhile. */
const deleteResponses = 'delete from idempotency_key where id = any($1) and created_at <= $2::timestamptz returning id';

const findCreatedAt = `select id, answer as response from idempotency_key
where created_at = any($1::timestamptz[]) and facility_id = any($2)`;
const replaceResponse = 'update idempotency_key set answer = $3 where id = $1 and answer = $2';

export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

export function createIdempotencyStore(db: Database) {
  return {
    find: (id: string, now: Date) => findStored(db, id, now),

    deleteExpired: async (now: Date): Promise<number> => {
      const before = expiryLimit(now);
      let deleted = 0;
      for (;;) {
        const expired = await query<{ id: string }>(db, findExpired, [before, deleteBatch]);
        const ids = expired.map(({ id }) => id);
        if (ids.length > 0) deleted += (await query(db, deleteResponses, [ids, before])).length;
        if (ids.length < deleteBatch) return deleted;
      }
    },
  };
}

async function findStored(on: Queryable, id: string, now: Date): Promise<StoredResponse | undefined> {
  return (await query<StoredResponse>(on, findResponse, [id, expiryLimit(now)]))[0];
}

export class KeyConflict extends Error {
  readonly isInProgress: boolean;
  constructor(isInProgress: boolean) {
    super('the Idempotency-Key is used by another request');
    this.isInProgress = isInProgress;
  }
}

/**
 * For a transaction that stores its response at the end, and whose lock no other request with the same key can have.
 * @throws {KeyConflict}
 */
export async function checkUnused(tx: Transaction, keyed: KeyedRequest | undefined, now: Date): Promise<void> {
  if (keyed && (await findStored(tx, keyed.id, now))) throw new KeyConflict(false);
}

/**
 * Must be the first statement of the transaction that locks something. Waits for another request with the same key for
 * at most one second.
 * @throws {KeyConflict}
 */
export async function storeResponse(
  tx: Transaction,
  newResponse: NewResponse | undefined,
  { facilityId, createdAt }: { readonly facilityId: string; readonly createdAt: string },
): Promise<void> {
  if (!newResponse) return;
  const { id, requestHash, response } = newResponse;
  const values = [id, requestHash, facilityId, response, createdAt, expiryLimit(new Date(createdAt))];
  try {
    const [, inserted] = await Promise.all([
      query(tx, "set local lock_timeout = '1s'"),
      query(tx, insertResponse, values),
      // Later statements of the transaction may wait longer for other locks.
      query(tx, 'set local lock_timeout to default'),
    ]);
    if (inserted.length === 0) throw new KeyConflict(false);
  } catch (error) {
    throw errorCode(error) === lockTimeout ? new KeyConflict(true) : error;
  }
}

/** Rewrites responses of these facilities. They were stored at these times, the creation times of their resources. */
export async function rewriteResponses(
  tx: Transaction,
  facilities: readonly string[],
  createdAt: readonly string[],
  rewrite: (response: string) => string,
): Promise<void> {
  for (const { id, response } of await query<Pick<NewResponse, 'id' | 'response'>>(tx, findCreatedAt, [
    createdAt,
    facilities,
  ])) {
    const rewritten = rewrite(response);
    if (rewritten !== response) send(tx, replaceResponse, [id, response, rewritten]);
  }
}

function expiryLimit(now: Date): string {
  return new Date(now.getTime() - lifetimeMilliseconds).toISOString();
}
