// Handles the header Idempotency-Key: a repeated request gets the stored response of the first one. The table
// idempotency_key has the first successful response for each key.
import { hash } from 'node:crypto';
import type { EndpointRequest, EndpointResponse } from '@bay-booking/common/endpoint';
import type { ApiError, ErrorOptions } from '@bay-booking/common/errors';
import { isObject } from '@bay-booking/common/validation';
import {
  type Database,
  errorCode,
  type Queryable,
  query,
  queryOne,
  send,
  type Transaction,
} from './database/database.ts';

/** How long a response is stored (docs/behaviour.md, "Idempotency keys"). */
const lifetimeMilliseconds = 24 * 3_600_000;
const deleteBatch = 1_000;
const lockTimeout = '55P03';

export interface KeyedRequest {
  /** The hash of the client, its subject and the key. */
  readonly id: string;
  /** The hash of the path and the body. */
  readonly requestHash: string;
  /** The facilities of the caller. Undefined if the caller may see every resource. */
  readonly facilities?: readonly string[] | undefined;
}

export interface NewResponse extends Pick<KeyedRequest, 'id' | 'requestHash'> {
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
const deleteResponses = 'delete from idempotency_key where id = any($1) and created_at <= $2::timestamptz';

const findCreatedAt = `select id, answer as response from idempotency_key
where created_at = any($1::timestamptz[]) and facility_id = any($2)`;
const replaceResponse = 'update idempotency_key set answer = $3 where id = $1 and answer = $2';

interface IdempotencyErrors {
  readonly apiError: (code: 'ERR00409' | 'ERR00422', options?: ErrorOptions) => ApiError;
  readonly unavailable: (cause: unknown) => ApiError;
  /** The caller has lost access to the facility of the stored response. */
  readonly noAccess?: (options: ErrorOptions) => ApiError;
}

export interface OnceOptions {
  readonly now: Date;
  /** The `contextData` of errors. */
  readonly context?: Readonly<Record<string, unknown>>;
  /**
   * Reads a response that `newResponse` has not written, and checks the access to it. Default: `newResponse` wrote it.
   */
  readonly readStored?: (stored: StoredResponse, keyId: string) => EndpointResponse;
}

export type Idempotency = ReturnType<typeof createIdempotency>;

export function createIdempotency(db: Database, errors: IdempotencyErrors) {
  async function findReplay(
    { id, requestHash, facilities }: KeyedRequest,
    { now, context = {}, readStored }: OnceOptions,
  ): Promise<EndpointResponse | undefined> {
    const stored = await findStored(db, id, now);
    if (!stored) return undefined;
    if (stored.requestHash !== requestHash) throw errors.apiError('ERR00422', { context });
    if (!readStored && errors.noAccess && !facilities?.includes(stored.facilityId)) throw errors.noAccess({ context });
    const response = readStored ? readStored(stored, id) : parseResponse(stored.response);
    return { ...response, headers: { ...response.headers, 'Idempotency-Replayed': 'true' } };
  }

  return {
    /**
     * Does the work of a request, or returns the stored response to an earlier request with the same key. `work` must
     * store its response (`storeResponse`) in its transaction.
     */
    async once(keyed: KeyedRequest | undefined, options: OnceOptions, work: () => Promise<EndpointResponse>) {
      const stored = keyed && (await findReplay(keyed, options));
      if (stored) return stored;
      try {
        return await work();
      } catch (error) {
        if (!keyed || !(error instanceof KeyConflict)) throw error;
        const { context = {} } = options;
        if (error.isInProgress) throw errors.apiError('ERR00409', { context, headers: { 'Retry-After': '1' } });
        const first = await findReplay(keyed, options);
        if (first) return first;
        throw errors.unavailable(new Error('a stored response was deleted while it was looked up'));
      }
    },

    /** Deletes a batch. Returns whether there may be more. */
    deleteExpired: async (now: Date): Promise<boolean> => {
      const before = expiryLimit(now);
      const expired = await query<{ id: string }>(db, findExpired, [before, deleteBatch]);
      const ids = expired.map(({ id }) => id);
      if (ids.length > 0) await query(db, deleteResponses, [ids, before]);
      return ids.length === deleteBatch;
    },
  };
}

type Request = EndpointRequest<
  unknown,
  unknown,
  { readonly clientId: string; readonly subject?: string | null; readonly facilities?: readonly string[] }
>;

/** The hash of an invalid request differs from every stored hash. */
export function keyedRequest(request: Omit<Request, 'header' | 'params' | 'requestId'>): KeyedRequest | undefined {
  const { path, body, bodyHash, validationErrors, idempotencyKey, caller } = request;
  if (idempotencyKey === undefined) return undefined;
  const { clientId, subject = clientId } = caller;
  return {
    facilities: caller.facilities,
    id: hashOf(JSON.stringify([clientId, subject, idempotencyKey])),
    requestHash:
      validationErrors.length > 0 ? 'invalid' : hashOf(JSON.stringify([path, bodyHash ?? body], withSortedFields)),
  };
}

const hashOf = (content: string): string => hash('sha256', content, 'base64url');

function withSortedFields(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Undefined if the request has no key. The body is on a line of its own, so that a replay sends it as it is. */
export function newResponse(keyed: KeyedRequest | undefined, { body, ...head }: EndpointResponse) {
  if (!keyed) return undefined;
  const { id, requestHash } = keyed;
  return { id, requestHash, response: `${JSON.stringify(head)}\n${JSON.stringify(body)}` };
}

/** Parsing the body of an import, 7 MB, would stop other requests. */
function parseResponse(response: string): EndpointResponse {
  const [head, bodyText] = splitResponse(response);
  return { ...JSON.parse(head), bodyText };
}

function splitResponse(response: string): readonly [head: string, body: string] {
  const end = response.indexOf('\n');
  return [response.slice(0, end), response.slice(end + 1)];
}

async function findStored(on: Queryable, id: string, now: Date): Promise<StoredResponse | undefined> {
  return queryOne<StoredResponse>(on, findResponse, [id, expiryLimit(now)]);
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

/**
 * Rewrites the bodies of responses of these facilities. They were stored at these times, the creation times of their
 * resources.
 */
export async function rewriteResponses(
  tx: Transaction,
  facilities: readonly string[],
  createdAt: readonly string[],
  rewrite: (body: string) => string,
): Promise<void> {
  for (const { id, response } of await query<Pick<NewResponse, 'id' | 'response'>>(tx, findCreatedAt, [
    createdAt,
    facilities,
  ])) {
    const [head, body] = splitResponse(response);
    const rewritten = `${head}\n${rewrite(body)}`;
    if (rewritten !== response) send(tx, replaceResponse, [id, response, rewritten]);
  }
}

const expiryLimit = (now: Date): string => new Date(now.getTime() - lifetimeMilliseconds).toISOString();
