// Defines the part of an SQL statement that queues logout tokens.
//
// A statement that ends sessions, or the access of clients in a session, contains this part. The end and its logout
// tokens are therefore stored together. If several requests end a session at the same time, its tokens are queued only
// once. No logout tokens are queued for a session that expires, and for the sessions of an account that an invitation
// replaces (portal/acceptance-store.ts).

/**
 * Queues a logout token for each client of the ended sessions. The statement that contains this part must define the
 * common table expression `ended` with the columns `account_id` and `payload` of the sessions in `oidc_artifact`. The
 * member `authorizations` of a payload maps the id of each client to its grant and its `sid`. It can be missing or
 * null.
 *
 * A client without a grant gets no logout token, because it has never got other tokens of the user: the user has only
 * seen the sign-in page or the consent page. If a client does not require a `sid` in its logout tokens, `distinct`
 * leaves one logout token for all ended sessions of the account.
 */
export const queueLogoutTokens = `
  insert into backchannel_logout (client_id, account_id, sid)
  select distinct c.id, e.account_id,
         case when c.metadata -> 'backchannel_logout_session_required' = 'true' then a.value ->> 'sid' end
    from ended e
   cross join jsonb_each(coalesce(nullif(e.payload -> 'authorizations', 'null'), '{}')) a
    join client c on c.id = a.key
   where c.metadata ->> 'backchannel_logout_uri' is not null and a.value ->> 'grantId' is not null`;
