// Chooses the adapter that stores each kind of oidc-provider's records, and reads and replaces codes and tokens.
import type { Database } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { type AccountWithMemberships, accountWithMemberships } from '../../accounts/store.ts';
import { providerMetadata } from '../clients/registered-client.ts';
import type { ProviderOptions } from '../provider-options.ts';
import { currentRequestState } from '../request-state.ts';
import { orUnavailable, queryOrUnavailable } from '../unavailable.ts';
import { columns, payloadOf, placeholders, rejectSecondUse, usedAt, valuesOf } from './artifacts.ts';
import { createPushedRequestAdapter } from './pushed-requests.ts';
import { createSessionAdapter } from './sessions.ts';

export function createAdapter(options: ProviderOptions): (model: string) => Adapter {
  const { db, artifacts, clients, deviceCodes, scopes, lifetimes, endSession } = options;
  /** Every request reads the database, so a disabled client is rejected at once. */
  const findClient = async (id: string) => {
    const client = await orUnavailable(() => clients.findActive(id));
    return client && providerMetadata(client, scopes);
  };
  return (model) => {
    const adapter = artifacts.adapterFor(model);
    switch (model) {
      case 'Client':
        // oidc-provider never writes clients: they are imported, or created in the portal.
        return { ...adapter, find: findClient };
      case 'AuthorizationCode':
        return createSourceAdapter(model, adapter, db);
      case 'DeviceCode':
        return deviceCodes.adapter;
      case 'Grant':
        return createGrantAdapter(adapter);
      case 'PushedAuthorizationRequest':
        return createPushedRequestAdapter(adapter, db, lifetimes.interaction);
      case 'RefreshToken':
        return createRefreshTokenAdapter(createSourceAdapter(model, adapter, db), db);
      case 'Session':
        return createSessionAdapter(adapter, db, endSession);
      default:
        return adapter;
    }
  };
}

/**
 * A code or refresh token is read together with its grant and its account, because each statement costs more than the
 * rows. The data are those of one moment. Rights that end later in the request end its token too (tokens/claims.ts).
 */
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

const createSourceAdapter = (model: string, adapter: Adapter, db: Database): Adapter => ({
  ...adapter,
  async find(id) {
    const [row] = await queryOrUnavailable<FoundSource>(db, findStatement, [model, hashSecret(id)]);
    if (!row) return undefined;
    const state = currentRequestState();
    if (state) Object.assign(state, { grant: row.grant, account: row.account });
    return payloadOf(row.payload, id, row.usedAt ?? undefined);
  },
});

const createGrantAdapter = (adapter: Adapter): Adapter => ({
  ...adapter,
  async find(id) {
    const found = currentRequestState()?.grant;
    return found?.jti === id ? payloadOf(found, id, undefined) : adapter.find(id);
  },
});

/**
 * Consumes the refresh token with the hash $10 and stores the next one, so either both happen or nothing. Returns no
 * row if it was used.
 */
const rotateStatement = `
  with used as (
    update oidc_artifact set consumed_at = clock_timestamp()
     where model = 'RefreshToken' and id = $10 and consumed_at is null returning 1)
  insert into oidc_artifact (${columns}) select ${placeholders} from used returning 1 as done`;

function createRefreshTokenAdapter(adapter: Adapter, db: Database): Adapter {
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
