// Stores refresh tokens and rotates them: each refresh uses a token up and stores its successor (RFC 6749 section 6).
//
// Concurrent use: one statement consumes the used token and inserts its successor, so both happen or neither. Of
// several concurrent uses of a token exactly one consumes it; the others get invalid_grant (concurrent-use.ts).
import { type Database, query } from '@bay-booking/service/database/database';
import type { Adapter } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';
import { currentRequestState } from '../request-state.ts';
import { orUnavailable } from '../unavailable.ts';
import { columns, placeholders, valuesOf } from './artifact-row.ts';
import type { ConcurrentUse } from './concurrent-use.ts';

const rotateStatement = `
  with used as (
    update oidc_artifact set consumed_at = clock_timestamp()
     where model = 'RefreshToken' and id = $10 and consumed_at is null returning 1)
  insert into oidc_artifact (${columns}) select ${placeholders} from used returning 1 as done`;

export interface RefreshTokenOptions {
  readonly db: Database;
  /** Stores refresh tokens like any other artifact, without rotation. */
  readonly adapter: Adapter;
  readonly concurrentUse: ConcurrentUse;
}

export function createRefreshTokenAdapter({ db, adapter, concurrentUse }: RefreshTokenOptions): Adapter {
  return {
    ...adapter,
    /** Only notes the token: the library always stores the successor next, and `upsert` then does both. */
    async consume(id) {
      const state = currentRequestState();
      if (!state) return adapter.consume(id);
      state.usedRefreshToken = hashSecret(id);
    },
    async upsert(id, payload, expiresIn) {
      const used = currentRequestState()?.usedRefreshToken;
      if (used === undefined) return adapter.upsert(id, payload, expiresIn);
      const values = [...valuesOf('RefreshToken', id, payload, expiresIn), used];
      await concurrentUse.consume(used, () => orUnavailable(() => query(db, rotateStatement, values)));
    },
  };
}
