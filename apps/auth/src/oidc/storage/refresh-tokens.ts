// Rotates refresh tokens: one statement uses the presented token up and stores its successor. RFC 6749 section 6.
import { type Database, jsonText, query } from '@bay-booking/service/database/database';
import { type AdapterPayload, errors } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';
import { withoutSecrets } from './artifact-row.ts';
import type { Races } from './concurrent-use.ts';

export type RefreshStore = ReturnType<typeof createRefreshStore>;

export function createRefreshStore({ db, races }: { db: Database; races: Races }) {
  return {
    /** Uses the token up and stores its successor, or neither. */
    rotate: (used: string, id: string, payload: AdapterPayload, expiresIn: number | undefined): Promise<void> =>
      races.run(used, async () => {
        // The successor's time is that after the wait for parallel uses: until then its request has certainly not been answered.
        const rows = await query(
          db,
          `with used as (
           update oidc_artifact set consumed_at = now()
            where model = 'RefreshToken' and id = $1 and consumed_at is null returning 1)
         insert into oidc_artifact (model, id, payload, grant_id, account_id, client_id, created_at, expires_at)
         select 'RefreshToken', $2, $3::jsonb, $4, $5, $6, clock_timestamp(), now() + make_interval(secs => $7) from used
         returning 1 as done`,
          [
            used,
            hashSecret(id),
            jsonText(withoutSecrets('RefreshToken', payload)),
            payload.grantId ?? null,
            payload.accountId ?? null,
            payload.clientId ?? null,
            expiresIn ?? null,
          ],
        );
        if (rows.length === 0) throw new errors.InvalidGrant({ detail: 'consumed by a parallel request' });
      }),
  };
}
