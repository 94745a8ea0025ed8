-- The portal: who was invited to a facility as what, and which forms were used already. Specification, "Bookings API access"; contract
-- section 5.

create table invitation (
  id text primary key,
  facility_id text not null references facility (id) on delete cascade,
  email text not null,
  role text not null constraint invitation_role_known check (role in ('staff', 'bookings-manager')),
  -- The mailed link is a bearer secret: its SHA-256 is kept. Sending again makes another.
  token_sha256 text not null,
  invited_by text references account (id) on delete set null,
  created_at timestamptz not null default now(),
  sent_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by text references account (id) on delete set null,
  withdrawn_at timestamptz
);
create unique index invitation_token on invitation (token_sha256);
create unique index invitation_one_open on invitation (facility_id, lower(email))
  where accepted_at is null and withdrawn_at is null;
create index invitation_invited_by on invitation (invited_by) where invited_by is not null;
create index invitation_accepted_by on invitation (accepted_by) where accepted_by is not null;

-- A form whose answer shows a secret works once: sending it again, as reloading the answer does, makes no second secret.
create table used_form (
  id_sha256 text primary key,
  used_at timestamptz not null default now()
);
create index used_form_used_at on used_form (used_at);
