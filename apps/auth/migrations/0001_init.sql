-- Who exists (accounts, facilities and the roles between them), who may ask for tokens (clients and their secrets),
-- what was issued (oidc_artifact), what signs it (signing_key) and what happened (audit_event).
-- Contract sections 2 and 6. Secrets, codes and tokens are only ever stored as their SHA-256.

create table facility (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table account (
  id text primary key,
  username text not null,
  name text,
  email text,
  email_verified boolean not null default false,
  kind text not null default 'user' constraint account_kind_known check (kind in ('user', 'service')),
  roles text[] not null default '{}',
  password_hash text,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index account_username_unique on account (lower(username));

create table membership (
  facility_id text not null references facility (id) on delete cascade,
  account_id text not null references account (id) on delete cascade,
  role text not null constraint membership_role_known check (role in ('owner', 'staff', 'bookings-manager')),
  created_at timestamptz not null default now(),
  primary key (facility_id, account_id)
);
create index membership_account on membership (account_id);

create table client (
  id text primary key,
  kind text not null default 'standard'
    constraint client_kind_known check (kind in ('standard', 'driving-range', 'personal-access-token')),
  pkce text not null default 'required' constraint client_pkce_known check (pkce in ('required', 'optional')),
  metadata jsonb not null default '{}',
  scope text not null default '',
  account_id text references account (id) on delete cascade,
  name text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  disabled_at timestamptz,
  last_used_at timestamptz,
  last_used_from text,
  constraint client_personal_access_token_has_account
    check ((kind = 'personal-access-token') = (account_id is not null))
);
create index client_account on client (account_id);

-- Several rows a client while a secret rotates: the old one stays good until expires_at.
create table client_secret (
  client_id text not null references client (id) on delete cascade,
  secret_sha256 text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  primary key (client_id, secret_sha256)
);

-- Sessions, interactions, grants, codes, refresh tokens and their like. The id is a bearer secret: its SHA-256 is kept.
create table oidc_artifact (
  model text not null,
  id text not null,
  payload jsonb not null,
  grant_id text,
  account_id text,
  client_id text,
  uid text,
  user_code text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  consumed_at timestamptz,
  primary key (model, id)
);
create unique index oidc_artifact_uid on oidc_artifact (model, uid) where uid is not null;
create unique index oidc_artifact_user_code on oidc_artifact (model, user_code) where user_code is not null;
create index oidc_artifact_grant on oidc_artifact (grant_id) where grant_id is not null;
create index oidc_artifact_account on oidc_artifact (account_id, model) where account_id is not null;
create index oidc_artifact_expires on oidc_artifact (expires_at);

-- next: published, does not sign yet; current: signs; retired: published until the last token it signed has expired.
create table signing_key (
  kid text primary key,
  alg text not null constraint signing_key_alg_known check (alg in ('ES256', 'RS256')),
  state text not null constraint signing_key_state_known check (state in ('next', 'current', 'retired')),
  public_jwk jsonb not null,
  private_jwk_encrypted text not null,
  created_at timestamptz not null default now(),
  signs_from timestamptz not null,
  -- seconds: the longest life that any instance gave a token signed with this key
  longest_ttl integer not null default 0,
  retired_at timestamptz,
  delete_after timestamptz
);
create unique index signing_key_one_current on signing_key (alg) where state = 'current';
create unique index signing_key_one_next on signing_key (alg) where state = 'next';

create table audit_event (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  kind text not null,
  account_id text,
  client_id text,
  facility_id text,
  address text,
  detail jsonb not null default '{}'
);
create index audit_event_facility on audit_event (facility_id, at desc) where facility_id is not null;
create index audit_event_account on audit_event (account_id, at desc) where account_id is not null;
