// Makes one change of an operator in one transaction, rolls back a dry run, and repeats stored responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { query, Rollback, type Transaction, transaction } from '@bay-booking/service/database/database';
import type { RecordStore } from './import.ts';

export interface ManagementResponse extends EndpointResponse {
  /** Not called after a dry run, and not for a repeated request. */
  readonly onCommit?: () => void;
}

export interface ChangeRequest {
  readonly clientId: string;
  /** Only a command sets it, never a request. */
  readonly isCommand?: true;
  readonly dryRun: boolean;
  /** The hashes of the client with its `Idempotency-Key`, and of the request. */
  readonly key?: { readonly id: string; readonly requestHash: string } | undefined;
}

type StoredResponse = Readonly<Record<'requestHash' | 'answer', string>>;
const findResponse = `select request_hash as "requestHash", answer from idempotency_key
where id = $1 and created_at > now() - interval '24 hours'`;
const saveResponse = `insert into idempotency_key (id, request_hash, answer) values ($1, $2, $3)
on conflict (id) do update set request_hash = excluded.request_hash, answer = excluded.answer,
  created_at = excluded.created_at`;

/** @throws {ApiError} 422 if the key was used before with another request */
export async function change(
  { db, lock, errors, isLong = false }: Pick<RecordStore, 'db' | 'lock' | 'errors'> & { readonly isLong?: boolean },
  { dryRun, key }: ChangeRequest,
  work: (tx: Transaction) => Promise<ManagementResponse>,
): Promise<ManagementResponse> {
  const { onCommit, ...response } = await transaction(db, async (tx): Promise<ManagementResponse> => {
    if (isLong) await allowLongTransaction(tx);
    await lock(tx);
    // The lock ensures that no other request has the same key at the same time.
    const [stored] = key && !dryRun ? await query<StoredResponse>(tx, findResponse, [key.id]) : [];
    if (stored && stored.requestHash !== key?.requestHash) throw errors.apiError('ERR00422');
    if (stored) return repeated(JSON.parse(stored.answer));
    const result = await work(tx);
    if (dryRun) throw new Rollback({ ...result, onCommit: undefined });
    if (key) {
      const { status, headers, body } = result;
      // A secret is shown once, also to a request that is repeated.
      const answer = JSON.stringify({ status, headers, body }, (name, value) =>
        name === 'client_secret' ? null : value,
      );
      await query(tx, saveResponse, [key.id, key.requestHash, answer]);
    }
    return result;
  });
  onCommit?.();
  return response;
}

const repeated = (response: EndpointResponse): EndpointResponse => ({
  ...response,
  headers: { ...response.headers, 'Idempotency-Replayed': 'true' },
});

/** The limits of infra/postgres/service.sql are for requests. PostgreSQL 16 and older have no `transaction_timeout`. */
const longTransaction = `select set_config(name, value, true) from (values ('transaction_timeout', '0'),
  ('statement_timeout', '60s'), ('lock_timeout', '60s'), ('idle_in_transaction_session_timeout', '60s'))
  setting (name, value) where exists (select from pg_settings s where s.name = setting.name)`;

const allowLongTransaction = (tx: Transaction): Promise<unknown> => query(tx, longTransaction);
