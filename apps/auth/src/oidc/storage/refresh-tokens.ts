// Stores refresh tokens and rotates them: each refresh consumes one token and stores the next one (RFC 6749 section 6).
//
// Concurrent use: one statement consumes the used token and inserts the next token, so either both happen or nothing.
// Exactly one of several concurrent uses consumes the token. The other uses get `invalid_grant`.
import { type Database, query } from '@bay-booking/service/database/database';
import type { Adapter } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';
import { currentRequestState } from '../request-state.ts';
import { orUnavailable } from '../unavailable.ts';
import { columns, placeholders, rejectSecondUse, valuesOf } from './artifact-row.ts';

/**
 * Consumes the used token, whose hash is $10, and inserts the next token. If the used token has already been consumed,
 * the statement does nothing and returns no row.
 */
const rotateStatement = `
  with used as (
    update oidc_artifact set consumed_at = clock_timestamp()
     where model = 'RefreshToken' and id = $10 and consumed_at is null returning 1)
  insert into oidc_artifact (${columns}) select ${placeholders} from used returning 1 as done`;

export interface RefreshTokenOptions {
  readonly db: Database;
  /** Stores refresh tokens like any other artifact, without rotation. */
  readonly adapter: Adapter;
}

export function createRefreshTokenAdapter({ db, adapter }: RefreshTokenOptions): Adapter {
  return {
    ...adapter,
    /**
     * Only remembers the token in the state of the current request. oidc-provider then calls `upsert`, which consumes
     * the remembered token.
     */
    async consume(id) {
      const state = currentRequestState();
      if (!state) return adapter.consume(id);
      state.usedRefreshToken = hashSecret(id);
    },
    async upsert(id, payload, expiresIn) {
      const used = currentRequestState()?.usedRefreshToken;
      if (used === undefined) return adapter.upsert(id, payload, expiresIn);
      const values = [...valuesOf('RefreshToken', id, payload, expiresIn), used];
      rejectSecondUse(await orUnavailable(() => query(db, rotateStatement, values)));
    },
  };
}
