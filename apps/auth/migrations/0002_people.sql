-- People beyond their account row: the social identities they sign in with, what they have consented to, the browsers they are signed in
-- on, one-time links by mail, mail that waits to be sent, and the count of failures that locks guessing out. Contract sections 4 to 6.

-- Keyed by provider and the provider's user id, never by e-mail.
create table social_identity (
  provider text not null,
  subject text not null,
  account_id text not null references account (id) on delete cascade,
  email text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  primary key (provider, subject)
);
create index social_identity_account on social_identity (account_id);

-- A trip to a social provider that is under way: read once, and only by the browser that set out.
create table social_attempt (
  state_sha256 text primary key,
  browser_sha256 text not null,
  provider text not null,
  nonce text not null,
  code_verifier text not null,
  interaction_uid text,
  return_to text,
  link_account_id text references account (id) on delete cascade,
  expires_at timestamptz not null
);
create index social_attempt_expires on social_attempt (expires_at);

-- What an account has granted to a client, over all its browsers; grants are made from it.
create table consent (
  account_id text not null references account (id) on delete cascade,
  client_id text not null references client (id) on delete cascade,
  scopes text[] not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (account_id, client_id)
);
create index consent_client on consent (client_id);

-- On what browser a session lives, for its owner to recognise; uid is that of the session's oidc_artifact.
create table browser_session (
  uid text primary key,
  account_id text not null references account (id) on delete cascade,
  user_agent text,
  address text,
  signed_in_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);
create index browser_session_account on browser_session (account_id);
create index browser_session_seen on browser_session (seen_at);

create table one_time_link (
  token_sha256 text primary key,
  purpose text not null,
  account_id text not null references account (id) on delete cascade,
  email text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index one_time_link_account on one_time_link (account_id, purpose);
create index one_time_link_expires on one_time_link (expires_at);

-- Mail waits here until the server has taken it; the row, which may hold a one-time link, goes with it.
create table mail (
  id bigint generated always as identity primary key,
  recipient text not null,
  subject text not null,
  body_text text not null,
  body_html text not null,
  created_at timestamptz not null default now(),
  next_try_at timestamptz not null default now(),
  tries integer not null default 0
);
create index mail_next_try on mail (next_try_at);

-- The columns are those of rate-limiter-flexible.
create table guard_count (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
create index guard_count_expire on guard_count (expire);
