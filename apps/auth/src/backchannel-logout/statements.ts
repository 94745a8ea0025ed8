// Defines the part of an SQL statement that queues logout tokens. It belongs to the statement that ends the sessions,
// so that each token is queued exactly once.

// Needs the common table expression `ended` with `account_id` and `payload` of the ended sessions. A client that has no
// grant has seen only our sign-in page. If a client uses no `sid`, `distinct` leaves one token for all sessions.
export const queueLogoutTokens = `
  insert into backchannel_logout (client_id, account_id, sid)
  select distinct c.id, e.account_id,
         case when c.metadata -> 'backchannel_logout_session_required' = 'true' then a.value ->> 'sid' end
    from ended e
   cross join jsonb_each(coalesce(nullif(e.payload -> 'authorizations', 'null'), '{}')) a
    join client c on c.id = a.key
   where c.metadata ->> 'backchannel_logout_uri' is not null and a.value ->> 'grantId' is not null`;
