// Reads a code or refresh token together with its grant and its account, because each statement costs more than the
// rows. The data are those of one moment. Rights that end later in the request end its token too (tokens/claims.ts).
import type { Database } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { type AccountWithMemberships, accountWithMemberships } from '../../accounts/store.ts';
import { currentRequestState } from '../request-state.ts';
import { queryOrUnavailable } from '../unavailable.ts';
import { payloadOf, usedAt } from './artifact-row.ts';

const findStatement = `
  select payload, ${usedAt} as "usedAt",
         (select g.payload from oidc_artifact g
           where g.model = 'Grant' and g.id = t.grant_id and (g.expires_at is null or g.expires_at > now())) as grant,
         (select ${accountWithMemberships} from account a where a.id = t.account_id) as account
    from oidc_artifact t where model = $1 and id = $2 and (expires_at is null or expires_at > now())`;

interface FoundSource {
  readonly payload: AdapterPayload;
  readonly usedAt: number | null;
  readonly grant: AdapterPayload | null;
  readonly account: AccountWithMemberships | null;
}

export const createSourceAdapter = (model: string, adapter: Adapter, { db }: { db: Database }): Adapter => ({
  ...adapter,
  async find(id) {
    const [row] = await queryOrUnavailable<FoundSource>(db, findStatement, [model, hashSecret(id)]);
    if (!row) return undefined;
    const state = currentRequestState();
    if (state) Object.assign(state, { grant: row.grant, account: row.account });
    return payloadOf(row.payload, id, row.usedAt ?? undefined);
  },
});

export const createGrantAdapter = (adapter: Adapter): Adapter => ({
  ...adapter,
  async find(id) {
    const found = currentRequestState()?.grant;
    return found?.jti === id ? payloadOf(found, id, undefined) : adapter.find(id);
  },
});
