// Ends the access that somebody has with an account: its sessions, grants, codes and tokens. Imports nothing of
// oidc-provider, because commands use it and must start quickly.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { forgetFailures } from '../guard/failures-store.ts';
import { queueLogoutTokens } from '../outbox/store.ts';

/** The models of codes and stored tokens, as a list in SQL. */
const codesAndTokens = "'AuthorizationCode', 'RefreshToken', 'AccessToken', 'DeviceCode'";

export interface KeptSession {
  /** The `uid` of the session that stays. */
  readonly keptSession?: string;
  /** Also keeps the grants, codes and tokens that clients got in this session. */
  readonly keepClientAccess?: boolean;
}

/**
 * Deletes all sessions, grants, codes and stored tokens of the account. A trigger revokes its JWTs, and the running
 * instances send the queued logout tokens. From a kept session without client access, `emptied` removes the list of
 * clients (`authorizations`).
 */
export async function endEverything(
  on: Queryable,
  accountId: string,
  { keptSession, keepClientAccess = false }: KeptSession = {},
): Promise<void> {
  await query(
    on,
    `with kept_grant as (
       select a.value ->> 'grantId' as grant_id
         from oidc_artifact s, jsonb_each(coalesce(s.payload -> 'authorizations', '{}')) a
        where s.model = 'Session' and s.account_id = $1 and s.uid = $2 and $3),
     sessions as (delete from browser_session where account_id = $1 and uid is distinct from $2),
     pending as (delete from pending_sign_in where account_id = $1),
     deleted as (
       delete from oidc_artifact t where t.account_id = $1
          and (t.model = 'Session' and t.uid is distinct from $2
            or t.model = 'Grant' and not exists (select from kept_grant k where k.grant_id = t.payload ->> 'jti')
            or t.model in (${codesAndTokens})
               and not exists (select from kept_grant k where k.grant_id = t.grant_id))
       returning model, account_id, payload),
     kept_session as (
       select id, account_id, payload from oidc_artifact
        where model = 'Session' and account_id = $1 and uid = $2 and not $3 for update),
     emptied as (
       update oidc_artifact s set payload = s.payload - 'authorizations'
         from kept_session k where s.model = 'Session' and s.id = k.id),
     ended as (
       select account_id, payload from deleted where model = 'Session'
       union all select account_id, payload from kept_session)
     ${queueLogoutTokens}`,
    [accountId, keptSession, keepClientAccess],
  );
}

/**
 * Ends all access to the account. After a change of the password, also deletes the links that could change the password
 * again, and the count of failed sign-ins.
 */
export async function endAccess(
  tx: Queryable,
  { id, username }: { readonly id: string; readonly username: string },
  { newPassword }: { readonly newPassword: boolean },
): Promise<void> {
  await endEverything(tx, id);
  if (!newPassword) return;
  await query(tx, "delete from one_time_link where account_id = $1 and purpose = 'reset-password'", [id]);
  await forgetFailures(tx, username);
}
