// Makes one change of an operator in one transaction, rolls back a dry run, and repeats stored responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { query, Rollback, type Transaction, transaction } from '@bay-booking/service/database/database';
import { newResponse, once } from '@bay-booking/service/idempotency/once';
import {
  checkUnused,
  createIdempotencyStore,
  type KeyedRequest,
  storeResponse,
} from '@bay-booking/service/idempotency/store';
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
  readonly key?: KeyedRequest | undefined;
}

/** @throws {ApiError} 422 if the key was used before with another request */
export async function change(
  {
    db,
    lock,
    errors,
    isLong = false,
  }: Pick<RecordStore<never>, 'db' | 'lock' | 'errors'> & { readonly isLong?: boolean },
  { dryRun, key }: ChangeRequest,
  work: (tx: Transaction) => Promise<ManagementResponse>,
): Promise<ManagementResponse> {
  const keyed = dryRun ? undefined : key;
  const now = new Date();
  const idempotency = createIdempotencyStore(db);
  return once(keyed, { idempotency, now, errors, readStored: ({ response }) => JSON.parse(response) }, async () => {
    const { onCommit, ...result } = await transaction(db, async (tx): Promise<ManagementResponse> => {
      if (isLong) await allowLongTransaction(tx);
      await lock(tx);
      await checkUnused(tx, keyed, now);
      const done = await work(tx);
      if (dryRun) throw new Rollback({ ...done, onCommit: undefined });
      // The key belongs to no facility.
      const stored = { facilityId: '', createdAt: now.toISOString() };
      await storeResponse(tx, keyed && newResponse(keyed, withoutSecrets(done)), stored);
      return done;
    });
    onCommit?.();
    return result;
  });
}

/** A secret is shown once, also to a request that is repeated. */
const withoutSecrets = ({ status, headers, body }: ManagementResponse): EndpointResponse =>
  JSON.parse(JSON.stringify({ status, headers, body }, (name, value) => (name === 'client_secret' ? null : value)));

/** The limits of infra/postgres/service.sql are for requests. PostgreSQL 16 and older have no `transaction_timeout`. */
const longTransaction = `select set_config(name, value, true) from (values ('transaction_timeout', '0'),
  ('statement_timeout', '60s'), ('lock_timeout', '60s'), ('idle_in_transaction_session_timeout', '60s'))
  setting (name, value) where exists (select from pg_settings s where s.name = setting.name)`;

const allowLongTransaction = (tx: Transaction): Promise<unknown> => query(tx, longTransaction);
