// Stores pushed authorization requests (RFC 9126).
//
// A browser must open the request within 60 s, and a request gives only one authorization code. The record is stored
// for a longer time, because the user needs time to sign in. If a user opens the request in two windows and completes
// both sign-ins, the record still exists at the second sign-in. The second window then shows an error, and no second
// code is issued. If both windows use the request at the same time, a conditional update lets only one of them succeed.
import { type Database, query } from '@bay-booking/service/database/database';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';
import { orUnavailable } from '../unavailable.ts';

export interface PushedRequestOptions {
  readonly db: Database;
  /**
   * The general adapter for stored artifacts. Here, `find` and `consume` are replaced, and `upsert` stores for a longer
   * time.
   */
  readonly adapter: Adapter;
  /** The time that a user has for sign-in and consent, in seconds. */
  readonly interactionLifetime: number;
}

interface FoundRequest {
  readonly payload: AdapterPayload;
  readonly isUsed: boolean;
  /** The seconds until the stored record expires. */
  readonly remaining: number;
}

export function createPushedRequestAdapter({ db, adapter, interactionLifetime }: PushedRequestOptions): Adapter {
  const run = <Row extends object>(sql: string, values: readonly unknown[]) =>
    orUnavailable(() => query<Row>(db, sql, values));

  return {
    ...adapter,
    upsert: (id, payload, expiresIn) => adapter.upsert(id, payload, (expiresIn ?? 0) + interactionLifetime),
    async find(id) {
      const [found] = await run<FoundRequest>(
        `select payload, consumed_at is not null as "isUsed",
                extract(epoch from expires_at - now())::float8 as remaining
           from oidc_artifact where model = 'PushedAuthorizationRequest' and id = $1 and expires_at > now()`,
        [hashSecret(id)],
      );
      if (!found) return undefined;
      // oidc-provider finds the record twice. When the browser opens the request, oidc-provider checks `exp`. After the
      // sign-in, it ignores `exp` and checks only `consumed`. A request that the browser can no longer open is
      // therefore returned as expired, and not left out.
      //
      // The record expires `interactionLifetime` after the request has become invalid (see `upsert`), and `remaining`
      // is the time until the record expires. The clock of the database decides whether the request is still valid
      // (artifact-row.ts explains why).
      const isValid = found.remaining > interactionLifetime;
      // oidc-provider compares `exp` with the clock of this host. Any future time means that the request is valid.
      const exp = Math.floor(Date.now() / 1000) + (isValid ? 60 : -1);
      // oidc-provider only reads whether `consumed` is set, so any time is right.
      return { ...found.payload, jti: id, exp, ...(found.isUsed && { consumed: exp }) };
    },
    async consume(id) {
      const used = await run(
        `update oidc_artifact set consumed_at = clock_timestamp()
          where model = 'PushedAuthorizationRequest' and id = $1 and consumed_at is null returning 1 as done`,
        [hashSecret(id)],
      );
      if (used.length === 0) throw new errors.InvalidRequestUri('request_uri was already used');
    },
  };
}
