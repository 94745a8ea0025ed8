-- Applications that wait for a logout token (OpenID Connect Back-Channel Logout 1.0). The statement that ends a session
-- inserts the rows, and the instance that sends the token deletes its row first, so no token is sent twice.
--
-- `client_id` has no foreign key: a client that is deleted meanwhile must not make the end of a session fail.
create table backchannel_logout (
  id bigint generated always as identity primary key,
  client_id text not null,
  account_id text not null,
  -- The session at the client; null if the client is registered without backchannel_logout_session_required.
  sid text,
  created_at timestamptz not null default now()
);
