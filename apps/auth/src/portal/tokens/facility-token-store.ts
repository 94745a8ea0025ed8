// Reads and revokes the personal access tokens of a facility's service accounts, for its owners and staff.
import { type Database, type Queryable, query, queryOne, transaction } from '@bay-booking/service/database/database';
import type { TokenAccess } from '../../clients/metadata.ts';
import { revokeToken } from '../../clients/personal-access-token-store.ts';
import { isActiveClient } from '../../clients/store.ts';
import { lockFacilityAs } from '../facility-lock-store.ts';

export interface FacilityToken {
  readonly clientId: string;
  readonly name: string;
  readonly accountId: string;
  readonly account: string;
  readonly access: TokenAccess;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  /** Whether the token works at other facilities too. */
  readonly isForOthers: boolean;
}

const maxListed = 1_000;

/** The tokens that work at the facility `$1`. A token can be for some facilities of its account only. */
const source = `client c join account a on a.id = c.account_id and a.kind = 'service'
    join membership m on m.account_id = a.id and m.facility_id = $1
   where c.kind = 'personal-access-token' and ${isActiveClient}
     and (c.facility_ids is null or $1 = any (c.facility_ids))`;
const columns = `c.id as "clientId", coalesce(c.name, '') as name, a.id as "accountId",
  coalesce(a.name, a.username) as account,
  c.access, c.created_at as "createdAt", c.last_used_at as "lastUsedAt",
  c.expires_at as "expiresAt", exists (
    select from membership o where o.account_id = a.id and o.facility_id <> $1
       and (c.facility_ids is null or o.facility_id = any (c.facility_ids))) as "isForOthers"`;

export const findFacilityTokens = (db: Database, facilityId: string): Promise<readonly FacilityToken[]> =>
  query<FacilityToken>(
    db,
    `select ${columns} from ${source} order by lower(a.username), c.created_at, c.id limit ${maxListed}`,
    [facilityId],
  );

export const findFacilityToken = (on: Queryable, facilityId: string, clientId: string) =>
  queryOne<FacilityToken>(on, `select ${columns} from ${source} and c.id = $2`, [facilityId, clientId]);

/**
 * Takes the facility out of the token, and revokes a token that has no other. Returns undefined if the actor may not
 * manage the facility any more, or if the token has ended.
 */
export const revokeFacilityToken = (
  db: Database,
  {
    facilityId,
    clientId,
    actorId,
  }: { readonly facilityId: string; readonly clientId: string; readonly actorId: string },
) =>
  transaction(db, async (tx) => {
    if (!(await lockFacilityAs(actorId, facilityId, tx))) return undefined;
    await query(tx, 'select 1 as locked from client where id = $1 for no key update', [clientId]);
    const token = await findFacilityToken(tx, facilityId, clientId);
    if (!token?.isForOthers) return token && (await revokeToken(tx, clientId)) && token;
    await query(
      tx,
      `update client c set facility_ids = coalesce(array_remove(c.facility_ids, $1), array(
         select m.facility_id from membership m where m.account_id = c.account_id and m.facility_id <> $1 order by 1))
        where c.id = $2`,
      [facilityId, clientId],
    );
    return token;
  });
