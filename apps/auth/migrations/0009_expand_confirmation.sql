-- The account whose sign-in the user confirms at the social provider. Null for every other flow.
alter table social_attempt add column confirm_account_id text references account (id) on delete cascade;

-- The mailed code with which a user without a password confirms a sign-in: one for each session.
create table confirmation_code (
  session_uid text primary key,
  account_id text not null references account (id) on delete cascade,
  code_hmac text not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
create index confirmation_code_expires on confirmation_code (expires_at);
