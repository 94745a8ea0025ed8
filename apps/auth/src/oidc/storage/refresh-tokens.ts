// How does a refresh ask the database twice and not seven times? What the library will ask for is read in one statement when the client is
// looked up, and the used token and its successor are written in another. RFC 6749 section 6; docs/decisions/0005.
import { type Database, query } from '@bay-booking/service/database/database';
import { jsonText } from '@bay-booking/service/database/json';
import { type AdapterPayload, errors, Provider } from 'oidc-provider';
import type { ActiveClient } from '../../clients/store.ts';
import { activeClientQuery } from '../../clients/store.ts';
import { hashSecret } from '../../secrets.ts';
import type { ProviderAccount } from '../claims.ts';
import { currentRequestState } from '../request-state.ts';
import { type ArtifactRow, answeredAt, payloadOf, withoutSecrets } from './artifact-row.ts';
import type { Races } from './concurrent-use.ts';

/** The id of a Grant's row: its SHA-256 as `hashSecret` writes it. */
const grantRowId = `rtrim(translate(encode(sha256(convert_to(a.grant_id, 'UTF8')), 'base64'), '+/', '-_'), '=')`;

interface Found extends ActiveClient {
  readonly payload: ArtifactRow['payload'] | null;
  readonly consumed: number | null;
  readonly answered: number;
  readonly grant: AdapterPayload | null;
  readonly subject: string | null;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly roles: readonly string[];
  readonly disabledAt: string | null;
  readonly subjectFacilities: readonly string[];
}

export type RefreshStore = ReturnType<typeof createRefreshStore>;

export function createRefreshStore({ db, races }: { db: Database; races: Races }) {
  return {
    /** The client, as `findActive` finds it; and, noted for the request, the presented token with its grant, account and facilities. */
    async readAhead(clientId: string, token: string): Promise<ActiveClient | undefined> {
      if (clientId.includes('\0')) return undefined;
      // One column of JSON: twenty of their own would be described, and read, one by one for every request.
      const [row] = await query<{ found: Found }>(
        db,
        `select row_to_json(f) as found from (
         select c.*, a.payload, extract(epoch from a.consumed_at)::float8 as consumed, ${answeredAt} as answered, g.payload as "grant",
                p.id as subject, p.username, p.name, p.email, p.email_verified as "emailVerified", p.roles, p.disabled_at as "disabledAt",
                array(select m.facility_id from membership m where m.account_id = p.id order by m.facility_id) as "subjectFacilities"
           from (${activeClientQuery}) c
           left join oidc_artifact a
             on a.model = 'RefreshToken' and a.id = $2 and (a.expires_at is null or a.expires_at > now())
           left join oidc_artifact g
             on g.model = 'Grant' and g.id = ${grantRowId} and (g.expires_at is null or g.expires_at > now())
           left join account p on p.id = a.account_id) f`,
        [clientId, hashSecret(token)],
      );
      const notes = currentRequestState();
      const found = row?.found;
      if (!found || !notes) return found;
      const { payload, consumed, answered, grant, subject } = found;
      const tokenRow = hashSecret(token);
      const artifacts = new Map([
        [
          keyOf('RefreshToken', token),
          payload ? payloadOf({ id: tokenRow, payload, consumed, answered }, races.isRace, token) : undefined,
        ],
      ]);
      if (payload?.grantId) artifacts.set(keyOf('Grant', payload.grantId), grant ?? undefined);
      notes.ahead = { artifacts, account: subject === null ? undefined : accountOf(found, subject) };
      if (subject !== null) notes.facilities = { accountId: subject, ids: found.subjectFacilities };
      return found;
    },

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

const keyOf = (model: string, id: string): string => `${model} ${id}`;

const accountOf = (found: Found, id: string): ProviderAccount => ({
  id,
  username: found.username,
  name: found.name,
  email: found.email,
  emailVerified: found.emailVerified,
  roles: found.roles,
  disabledAt: found.disabledAt === null ? null : new Date(found.disabledAt),
});

/** What the request now served presents for a refresh, if that is what it is. */
export function presentedRefreshToken(): string | undefined {
  const oidc = Provider.ctx?.oidc;
  if (oidc?.route !== 'token' || oidc.params?.grant_type !== 'refresh_token') return undefined;
  const token = oidc.params.refresh_token;
  return typeof token === 'string' ? token : undefined;
}

/** What was read ahead of this artifact, once: who asks again gets no old answer. */
export function takeAhead(model: string, id: string): { readonly payload: AdapterPayload | undefined } | undefined {
  const artifacts = currentRequestState()?.ahead?.artifacts;
  if (!artifacts) return undefined;
  const key = keyOf(model, id);
  if (!artifacts.has(key)) return undefined;
  const payload = artifacts.get(key);
  artifacts.delete(key);
  return { payload };
}

export function accountAhead(id: string): ProviderAccount | undefined {
  const account = currentRequestState()?.ahead?.account;
  return account?.id === id ? account : undefined;
}
