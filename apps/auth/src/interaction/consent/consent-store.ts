// Stores the scopes that a user granted to each client, and those that the user declined (table `consent`).
import { type Database, query, queryOne, transaction } from '@bay-booking/service/database/database';
import type { DecidedScopes, GrantOwner } from '../../oidc/authorization/consent-grants.ts';
import { queueLogoutTokens } from '../../outbox/store.ts';

export interface ConnectedClient {
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly since: Date;
}

/** `sendLogoutTokens` starts to send the queued logout tokens and does not wait until they are sent. */
export function createConsentStore({ db, sendLogoutTokens }: { db: Database; sendLogoutTokens: () => void }) {
  return {
    find: ({ accountId, clientId }: GrantOwner): Promise<DecidedScopes | undefined> =>
      queryOne<DecidedScopes>(
        db,
        'select scopes as granted, declined from consent where account_id = $1 and client_id = $2',
        [accountId, clientId],
      ),

    /** Replaces the decisions about these scopes. The others stay. */
    async save({ accountId, clientId }: GrantOwner, { granted, declined }: DecidedScopes): Promise<void> {
      await query(
        db,
        `insert into consent as c (account_id, client_id, scopes, declined)
         values ($1, $2, $3::text[], $4::text[])
         on conflict (account_id, client_id) do update set updated_at = now(),
           scopes = array(select unnest(c.scopes) except select unnest($4::text[]) union select unnest($3::text[])),
           declined = array(select unnest(c.declined) except select unnest($3::text[]) union select unnest($4::text[]))`,
        [accountId, clientId, granted, declined],
      );
    },

    /** Includes clients that have a grant without a consent, such as native apps with the grant type `password`. */
    findConnectedClients: (accountId: string): Promise<readonly ConnectedClient[]> =>
      query<ConnectedClient>(
        db,
        `with granted as (
           select client_id, min(created_at) as since from oidc_artifact
            where model = 'Grant' and account_id = $1 and client_id is not null
              and (expires_at is null or expires_at > now())
            group by client_id)
         select c.id as "clientId", coalesce(c.metadata ->> 'client_name', c.name, c.id) as name,
                coalesce(k.scopes, '{}') as scopes, least(k.created_at, g.since) as since
           from client c
           left join consent k on k.client_id = c.id and k.account_id = $1
           left join granted g on g.client_id = c.id
          where k.client_id is not null or g.client_id is not null
          order by name, c.id limit 200`,
        [accountId],
      ),

    /**
     * Removes the access of the client. A trigger publishes each deleted grant in the list of revocations.
     *
     * `queueLogoutTokens` sends a logout token to every client in `ended`, so `ended` contains only this client.
     */
    async revoke(accountId: string, clientId: string): Promise<void> {
      await transaction(db, async (tx) => {
        await query(tx, 'delete from consent where account_id = $1 and client_id = $2', [accountId, clientId]);
        await query(
          tx,
          `delete from oidc_artifact where account_id = $1 and client_id = $2
              and model in ('Grant', 'AuthorizationCode', 'RefreshToken', 'AccessToken', 'DeviceCode')`,
          [accountId, clientId],
        );
        await query(
          tx,
          `with left_sessions as (
             select id, account_id, payload #> array['authorizations', $2] as client from oidc_artifact
              where model = 'Session' and account_id = $1 and payload #> array['authorizations', $2] is not null
                for update),
           changed as (
             update oidc_artifact s set payload = s.payload #- array['authorizations', $2]
               from left_sessions l where s.model = 'Session' and s.id = l.id),
           ended as (
             select account_id, jsonb_build_object('authorizations', jsonb_build_object($2::text, client)) as payload
               from left_sessions)
           ${queueLogoutTokens}`,
          [accountId, clientId],
        );
      });
      sendLogoutTokens();
    },
  };
}
