-- Second factors of accounts. The secret of an authenticator app is encrypted with KEY_ENCRYPTION_KEY.
create table authenticator_app (
  account_id text primary key references account (id) on delete cascade,
  secret_encrypted text not null,
  -- The 30-second step of the last accepted code. Codes of this step and of earlier ones no longer work.
  last_step bigint not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);

create table passkey (
  id text primary key,
  account_id text not null references account (id) on delete cascade,
  name text not null,
  public_key bytea not null,
  transports text[] not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkey_account on passkey (account_id);

-- The codes of an account have one salt, so that one hash tells whether a code is one of them.
create table recovery_code (
  account_id text not null references account (id) on delete cascade,
  code_hash text not null,
  salt bytea not null,
  primary key (account_id, code_hash)
);

-- Sign-ins that wait for the second factor.
create table half_sign_in (
  id_sha256 text primary key,
  browser_sha256 text not null,
  account_id text not null references account (id) on delete cascade,
  acr text,
  amr text[] not null,
  interaction_uid text,
  return_to text,
  expires_at timestamptz not null
);
create index half_sign_in_account on half_sign_in (account_id);
create index half_sign_in_expires on half_sign_in (expires_at);

-- Challenges of passkeys that were used. Each works once.
create table used_challenge (
  challenge text primary key,
  expires_at timestamptz not null
);
create index used_challenge_expires on used_challenge (expires_at);

alter table facility add column requires_second_factor boolean not null default false;
