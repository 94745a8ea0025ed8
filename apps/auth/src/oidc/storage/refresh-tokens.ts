// Stores refresh tokens. One statement consumes a token and stores the next one, so either both happen or nothing.
import type { Database } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import type { Adapter } from 'oidc-provider';
import { currentRequestState } from '../request-state.ts';
import { queryOrUnavailable } from '../unavailable.ts';
import { columns, placeholders, rejectSecondUse, valuesOf } from './artifact-row.ts';

/** Consumes the token with the hash $10. Does nothing and returns no row if it was used. */
const rotateStatement = `
  with used as (
    update oidc_artifact set consumed_at = clock_timestamp()
     where model = 'RefreshToken' and id = $10 and consumed_at is null returning 1)
  insert into oidc_artifact (${columns}) select ${placeholders} from used returning 1 as done`;

export function createRefreshTokenAdapter(adapter: Adapter, { db }: { db: Database }): Adapter {
  return {
    ...adapter,
    /** oidc-provider stores the next token after this, and `upsert` then consumes the used one. */
    async consume(id) {
      const state = currentRequestState();
      if (!state) return adapter.consume(id);
      state.usedRefreshToken = hashSecret(id);
    },
    async upsert(id, payload, expiresIn) {
      const used = currentRequestState()?.usedRefreshToken;
      if (used === undefined) return adapter.upsert(id, payload, expiresIn);
      const values = [...valuesOf('RefreshToken', id, payload, expiresIn), used];
      rejectSecondUse(await queryOrUnavailable(db, rotateStatement, values));
    },
  };
}
