-- The schema of auth: facilities, accounts and how they sign in, clients, what oidc-provider stores, the portal, mails,
-- the list of revocations and the audit trail.
--
-- Secrets, codes, links and tokens are stored as their SHA-256. Until version 1.0.0 is tagged, changes edit this file
-- (CONTRIBUTING.md, "Migrations").

------------------------------------------------------------------------------------- facilities and accounts

create table facility (
  id text primary key,
  name text not null,
  time_zone text not null default 'UTC',
  requires_second_factor boolean not null default false,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

create table account (
  id text primary key,
  username text not null,
  -- Equal for all spellings of a user name or e-mail address (src/input/username.ts).
  username_key text not null,
  name text,
  email text,
  email_key text,
  email_verified boolean not null default false,
  -- When the owner of the account proved that the e-mail address is theirs. A password reset removes what was added
  -- before that time: somebody else may have created the account.
  email_proven_at timestamptz,
  kind text not null default 'user' constraint account_kind_known check (kind in ('user', 'service')),
  roles text[] not null default '{}',
  password_hash text,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint account_proven_if_verified check (not email_verified or email_proven_at is not null)
);
-- Every sign-in.
create unique index account_username_unique on account (username_key);

create table membership (
  facility_id text not null references facility (id) on delete cascade,
  account_id text not null references account (id) on delete cascade,
  role text not null
    constraint membership_role_known check (role in ('owner', 'staff', 'bookings-manager', 'facility-manager')),
  created_at timestamptz not null default now(),
  primary key (facility_id, account_id)
);
-- The facilities of every token.
create index membership_account on membership (account_id);

-- The names of former members are looked up when a booking that they changed is shown. An account that was deleted has
-- a number in deleted_account.
create table former_member (
  facility_id text not null references facility (id) on delete cascade,
  account_id text not null,
  role text not null,
  left_at timestamptz not null default now(),
  primary key (facility_id, account_id)
);
create function keep_former_member() returns trigger language plpgsql as $$
begin
  insert into former_member (facility_id, account_id, role)
  select id, old.account_id, old.role from facility where id = old.facility_id
  on conflict (facility_id, account_id) do update set role = excluded.role, left_at = excluded.left_at;
  return null;
end
$$;
create trigger membership_ended after delete on membership for each row execute function keep_former_member();

-- The ids of deleted accounts and facilities are never used again. The history of a facility shows a deleted account as
-- "Former member NUMBER".
create table deleted_account (
  id text primary key,
  number bigint generated always as identity,
  deleted_at timestamptz not null default now()
);
create table deleted_facility (
  id text primary key,
  deleted_at timestamptz not null default now()
);

--------------------------------------------------------------------------------------------------- sign-in

-- Keyed by the provider and its user id, never by e-mail address.
create table social_identity (
  provider text not null,
  subject text not null,
  account_id text not null references account (id) on delete cascade,
  email text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  primary key (provider, subject)
);
-- The account page.
create index social_identity_account on social_identity (account_id);

-- A sign-in at a social provider that is in progress. It can be read once, by the browser that began it.
create table social_attempt (
  state_sha256 text primary key,
  browser_sha256 text not null,
  provider text not null,
  nonce text not null,
  code_verifier text not null,
  interaction_uid text,
  return_to text,
  -- The account to link, or the account whose sign-in the user confirms.
  link_account_id text references account (id) on delete cascade,
  confirm_account_id text references account (id) on delete cascade,
  expires_at timestamptz not null
);
-- The deletion of expired rows.
create index social_attempt_expires on social_attempt (expires_at);

-- The secret is encrypted with KEY_ENCRYPTION_KEY.
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
-- Every sign-in, and the account page.
create index passkey_account on passkey (account_id);

-- The codes of an account have one salt, so that one hash tells whether a code is one of them.
create table recovery_code (
  account_id text not null references account (id) on delete cascade,
  code_hash text not null,
  salt bytea not null,
  primary key (account_id, code_hash)
);

-- Sign-ins that wait for the second factor.
create table pending_sign_in (
  id_sha256 text primary key,
  browser_sha256 text not null,
  account_id text not null references account (id) on delete cascade,
  acr text,
  amr text[] not null,
  interaction_uid text,
  return_to text,
  expires_at timestamptz not null
);
-- A new password ends the sign-ins of the account.
create index pending_sign_in_account on pending_sign_in (account_id);
-- The deletion of expired rows.
create index pending_sign_in_expires on pending_sign_in (expires_at);

-- Challenges of passkeys that were used. Each works once.
create table used_challenge (
  challenge text primary key,
  expires_at timestamptz not null
);
-- The deletion of expired rows.
create index used_challenge_expires on used_challenge (expires_at);

-- The browser of a session, for its owner to recognise; uid is the session's in oidc_artifact.
create table browser_session (
  uid text primary key,
  account_id text not null references account (id) on delete cascade,
  user_agent text,
  address text,
  signed_in_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);
-- The account page.
create index browser_session_account on browser_session (account_id);
-- The deletion of unused sessions.
create index browser_session_seen on browser_session (seen_at);

-- The mailed code with which a user confirms a sign-in: one for each session.
create table confirmation_code (
  session_uid text primary key,
  account_id text not null references account (id) on delete cascade,
  code_hmac text not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
-- The deletion of expired rows.
create index confirmation_code_expires on confirmation_code (expires_at);

-- The token of a link is an HMAC of the seed, so that a live link can be mailed again.
create table one_time_link (
  token_sha256 text primary key,
  seed text not null,
  purpose text not null,
  account_id text not null references account (id) on delete cascade,
  email text not null,
  email_key text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
-- A new link replaces the earlier one.
create index one_time_link_account on one_time_link (account_id, purpose);
-- The deletion of expired rows.
create index one_time_link_expires on one_time_link (expires_at);

-- Failed sign-ins and other limited events. The columns are those of rate-limiter-flexible.
create table guard_count (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
-- The deletion of expired counts.
create index guard_count_expire on guard_count (expire);

-------------------------------------------------------------------------------------- clients and oidc-provider

-- A personal access token is a client with an account.
create table client (
  id text primary key,
  kind text not null default 'standard'
    constraint client_kind_known check (kind in ('standard', 'driving-range', 'personal-access-token')),
  pkce text not null default 'required' constraint client_pkce_known check (pkce in ('required', 'optional')),
  metadata jsonb not null default '{}',
  scope text not null default '',
  account_id text references account (id) on delete cascade,
  name text,
  -- What a personal access token may do. If facility_ids is null, the token is for every facility of its account.
  access text not null default 'write' constraint client_access_known check (access in ('read', 'write', 'manage')),
  facility_ids text[],
  created_at timestamptz not null default now(),
  -- When the lifetime began anew: a rotation, or an import with another expires_at.
  renewed_at timestamptz,
  expires_at timestamptz,
  -- The value of expires_at that the list of revocations has an entry for.
  expiry_published_for timestamptz,
  -- How many days before the expiry an e-mail was last sent: 14, then 3.
  expiry_reminder integer,
  disabled_at timestamptz,
  last_used_at timestamptz,
  last_used_from text,
  constraint client_personal_access_token_has_account
    check ((kind = 'personal-access-token') = (account_id is not null))
);
-- The tokens of a service account.
create index client_account on client (account_id);
-- Reminders, and entries in the list of revocations.
create index client_expires on client (expires_at) where expires_at is not null;

-- The names of deleted tokens are looked up as those of former members are.
create table deleted_token (
  account_id text not null,
  id text not null,
  name text not null,
  facility_ids text[],
  created_at timestamptz not null,
  primary key (account_id, id)
);
create function keep_deleted_token() returns trigger language plpgsql as $$
begin
  insert into deleted_token (account_id, id, name, facility_ids, created_at)
  values (old.account_id, old.id, coalesce(nullif(old.name, ''), nullif(old.metadata ->> 'client_name', ''), old.id),
          old.facility_ids, old.created_at)
  on conflict do nothing;
  return null;
end
$$;
create trigger personal_access_token_deleted after delete on client for each row
  when (old.kind = 'personal-access-token') execute function keep_deleted_token();

-- A client has several secrets during a rotation: the old one works until expires_at.
create table client_secret (
  client_id text not null references client (id) on delete cascade,
  secret_sha256 text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  primary key (client_id, secret_sha256)
);

-- What an account has granted to a client and declined, in all its browsers.
create table consent (
  account_id text not null references account (id) on delete cascade,
  client_id text not null references client (id) on delete cascade,
  scopes text[] not null,
  declined text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (account_id, client_id)
);
-- The deletion of a client.
create index consent_client on consent (client_id);

-- Sessions, interactions, grants, codes and refresh tokens. The id is a bearer secret, stored as its SHA-256.
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
  -- How a device polls with its device code (RFC 8628 section 3.5). The interval is in seconds.
  next_poll_at timestamptz,
  poll_interval integer,
  primary key (model, id)
);
-- A session is found by its uid, a device code by its user code.
create unique index oidc_artifact_uid on oidc_artifact (model, uid) where uid is not null;
create unique index oidc_artifact_user_code on oidc_artifact (model, user_code) where user_code is not null;
-- The end of a grant.
create index oidc_artifact_grant on oidc_artifact (grant_id) where grant_id is not null;
-- The account page, and the end of an account's sessions and grants.
create index oidc_artifact_account on oidc_artifact (account_id, model) where account_id is not null;
-- The deletion of expired rows.
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
  -- In seconds: the longest lifetime of a token that an instance signed with this key.
  longest_ttl integer not null default 0,
  retired_at timestamptz,
  delete_after timestamptz
);
create unique index signing_key_one_current on signing_key (alg) where state = 'current';
create unique index signing_key_one_next on signing_key (alg) where state = 'next';

---------------------------------------------------------------------------------- the portal and management API

create table invitation (
  id text primary key,
  facility_id text not null references facility (id) on delete cascade,
  email text not null,
  email_key text not null,
  role text not null
    constraint invitation_role_known check (role in ('owner', 'staff', 'bookings-manager', 'facility-manager')),
  -- Of the mailed link. Sending the invitation again makes another link.
  token_sha256 text not null,
  invited_by text references account (id) on delete set null,
  created_at timestamptz not null default now(),
  sent_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by text references account (id) on delete set null,
  withdrawn_at timestamptz
);
-- The mailed link.
create unique index invitation_token on invitation (token_sha256);
-- A facility has one open invitation for each e-mail address.
create unique index invitation_one_open on invitation (facility_id, email_key)
  where accepted_at is null and withdrawn_at is null;
-- The deletion of old invitations.
create index invitation_decided on invitation (coalesce(accepted_at, withdrawn_at));
-- The deletion of an account.
create index invitation_invited_by on invitation (invited_by) where invited_by is not null;
create index invitation_accepted_by on invitation (accepted_by) where accepted_by is not null;

-- A form whose response shows a secret works once: reloading the page makes no second secret.
create table used_form (
  id_sha256 text primary key,
  used_at timestamptz not null default now()
);
-- The deletion of old rows.
create index used_form_used_at on used_form (used_at);

-- Responses of the management API, for Idempotency-Key. A row is deleted after 24 hours.
create table idempotency_key (
  id text primary key,
  request_hash text not null,
  -- Always empty: a response of the management API belongs to no facility.
  facility_id text not null default '',
  answer text not null,
  created_at timestamptz(3) not null default now()
);
-- The deletion of old responses.
create index idempotency_key_by_age on idempotency_key (created_at);

-------------------------------------------------------------------------------------------------- the outbox

-- E-mails and logout tokens (OpenID Connect Back-Channel Logout 1.0) that wait to be sent. An entry is deleted when it
-- was sent: an e-mail may contain a one-time link. target and account_id have no foreign key: the deletion of a client
-- or an account must not fail.
create table outbox (
  id bigint generated always as identity primary key,
  kind text not null constraint outbox_kind_known check (kind in ('mail', 'logout-token')),
  -- Who gets the entry: the mail server, or a client. Entries for one target do not delay those for others.
  target text not null,
  -- Of an e-mail, the person whose name it contains, besides its recipient. Of a logout token, the person signed out.
  account_id text,
  -- The recipient of an e-mail, as username_key in account.
  recipient_key text,
  -- An e-mail is encrypted with KEY_ENCRYPTION_KEY.
  payload jsonb not null,
  created_at timestamptz not null default now(),
  -- The end of the lease while an instance makes an attempt.
  next_try_at timestamptz not null default now(),
  tries integer not null default 0
);
-- The worker leases the first due entries of each target. A full outbox must not be sorted for each of them.
create index outbox_due on outbox (kind, target, next_try_at, id);

------------------------------------------------------------------------------------- the list of revocations

-- Rights that have ended while access tokens with them may still be valid. Resource servers read the list.
create table revocation (
  number bigint generated always as identity primary key,
  -- The SHA-256 of what has ended, such as `grant ID`.
  id text not null unique,
  -- Tokens with an earlier `iat` are rejected.
  before bigint not null,
  -- For `facility ID`: the facility is disabled now, and not only the earlier tokens have ended.
  disabled boolean not null default false,
  -- Infinite while `disabled`.
  expires_at timestamptz not null
);
create index revocation_expires on revocation (expires_at);

create function revocation_id(ended text) returns text immutable language sql as $$
  select translate(rtrim(encode(sha256(convert_to(ended, 'UTF8')), 'base64'), '='), '+/', '-_')
$$;

-- The lock makes the order of the numbers the order of the commits, so a reader of the list never misses an entry. The
-- triggers run at the end of their transaction, so nothing is locked after this lock.
create function add_revocation(ended text, kept interval default null) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(4206912024);
  insert into revocation (id, before, expires_at)
  values (revocation_id(ended), floor(extract(epoch from clock_timestamp()))::bigint + 1,
          -- Default of `kept`: the longest lifetime of an access token, and a minute because clocks differ.
          now() + coalesce(kept, (
            select make_interval(secs => greatest(coalesce(max(longest_ttl), 0), 3600) + 60) from signing_key)))
  on conflict (id) do update set number = default, before = excluded.before, expires_at = excluded.expires_at;
end
$$;

create function revoke_grant() returns trigger language plpgsql as $$
begin
  perform add_revocation('grant ' || (old.payload ->> 'jti'));
  return null;
end
$$;
create constraint trigger grant_ended after delete on oidc_artifact deferrable initially deferred
  for each row when (old.model = 'Grant' and (old.expires_at is null or old.expires_at > now()))
  execute function revoke_grant();

create function revoke_client() returns trigger language plpgsql as $$
begin
  perform add_revocation('client ' || old.id);
  return null;
end
$$;
create constraint trigger client_deleted after delete on client deferrable initially deferred
  for each row execute function revoke_client();
create constraint trigger client_reduced after update of disabled_at, account_id, access on client
  deferrable initially deferred
  for each row when (
    (old.disabled_at is null and new.disabled_at is not null)
    or old.account_id is distinct from new.account_id
    or array_position(array['read', 'write', 'manage'], new.access)
       < array_position(array['read', 'write', 'manage'], old.access))
  execute function revoke_client();

-- `facility_ids` is null if the token is for every facility of its account.
create function revoke_client_access() returns trigger language plpgsql as $$
begin
  perform add_revocation('client-access ' || old.id || ' ' || lost.id, interval '90 days')
    from unnest(coalesce(old.facility_ids, array(
      select facility_id from membership where account_id = old.account_id))) as lost (id)
   where lost.id <> all (new.facility_ids);
  return null;
end
$$;
create constraint trigger client_facilities_reduced after update of facility_ids on client
  deferrable initially deferred
  for each row when (
    new.facility_ids is not null and (old.facility_ids is null or not old.facility_ids <@ new.facility_ids))
  execute function revoke_client_access();

create function revoke_account() returns trigger language plpgsql as $$
begin
  perform add_revocation('account ' || old.id, interval '90 days');
  return null;
end
$$;
create constraint trigger account_deleted after delete on account deferrable initially deferred
  for each row execute function revoke_account();
create constraint trigger account_disabled after update of disabled_at on account deferrable initially deferred
  for each row when (old.disabled_at is null and new.disabled_at is not null) execute function revoke_account();

create function revoke_membership() returns trigger language plpgsql as $$
begin
  perform add_revocation('access ' || old.account_id || ' ' || old.facility_id, interval '90 days');
  return null;
end
$$;
create constraint trigger membership_revoked after delete on membership deferrable initially deferred
  for each row execute function revoke_membership();
-- From the role with the fewest rights to that with the most.
create constraint trigger membership_reduced after update of role on membership deferrable initially deferred
  for each row when (
    array_position(array['bookings-manager', 'facility-manager', 'staff', 'owner'], new.role)
    < array_position(array['bookings-manager', 'facility-manager', 'staff', 'owner'], old.role))
  execute function revoke_membership();

-- `default` is the default value of OpenID Connect.
create function lost_metadata(before jsonb, later jsonb, field text, "default" text) returns boolean immutable
language sql as $$
  select not coalesce(before -> field, jsonb_build_array("default")) <@ coalesce(later -> field, jsonb_build_array("default"))
$$;
create constraint trigger client_narrowed after update of scope, metadata on client deferrable initially deferred
  for each row when (
    not string_to_array(old.scope, ' ') <@ string_to_array(new.scope, ' ')
    or lost_metadata(old.metadata, new.metadata, 'grant_types', 'authorization_code')
    -- The response type `token` implies the grant type `implicit`.
    or lost_metadata(old.metadata, new.metadata, 'response_types', 'code'))
  execute function revoke_client();

-- Users with a second factor sign in with it, so their tokens stay. A service account would lose its personal access
-- tokens, which need no second factor.
create function revoke_members_without_factor() returns trigger language plpgsql as $$
begin
  perform add_revocation('access ' || m.account_id || ' ' || new.id, interval '90 days')
    from membership m join account a on a.id = m.account_id
   where m.facility_id = new.id and a.kind = 'user'
     and not exists (select from authenticator_app f where f.account_id = a.id)
     and not exists (select from passkey f where f.account_id = a.id);
  return null;
end
$$;
create constraint trigger facility_protected after update of requires_second_factor on facility
  deferrable initially deferred
  for each row when (new.requires_second_factor and not old.requires_second_factor)
  execute function revoke_members_without_factor();

-- The entry stays while the facility is disabled, so that every resource server knows the disabled facilities.
create function disable_facility() returns trigger language plpgsql as $$
begin
  perform add_revocation('facility ' || new.id);
  update revocation set disabled = true, expires_at = 'infinity' where id = revocation_id('facility ' || new.id);
  return null;
end
$$;
create constraint trigger facility_disabled after update of disabled_at on facility deferrable initially deferred
  for each row when (old.disabled_at is null and new.disabled_at is not null)
  execute function disable_facility();
create constraint trigger facility_created after insert on facility deferrable initially deferred
  for each row when (new.disabled_at is not null) execute function disable_facility();
-- Keeps `before`: a token that was issued since has a right to the facility.
create function enable_facility() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(4206912024);
  update revocation set number = default, disabled = false, expires_at = now() + interval '90 days'
   where id = revocation_id('facility ' || old.id);
  return null;
end
$$;
create constraint trigger facility_enabled after update of disabled_at on facility deferrable initially deferred
  for each row when (old.disabled_at is not null and new.disabled_at is null)
  execute function enable_facility();
create constraint trigger facility_deleted after delete on facility deferrable initially deferred
  for each row when (old.disabled_at is not null) execute function enable_facility();

------------------------------------------------------------------------------------------- the audit trail

create table audit_event (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  kind text not null,
  account_id text,
  client_id text,
  facility_id text,
  address text,
  -- The key of `email` in `detail`, as username_key in account.
  email_key text,
  -- `operator` is the client of the management API, or `import`.
  detail jsonb not null default '{}'
);
-- The history of a facility and of an account.
create index audit_event_facility on audit_event (facility_id, at desc) where facility_id is not null;
create index audit_event_account on audit_event (account_id, at desc) where account_id is not null;
-- The applications that the members of a facility have used.
create index audit_event_application on audit_event (account_id, client_id, at)
  where kind in ('authorization.granted', 'device.connected');
-- The audit list of the management API.
create index audit_event_operator on audit_event (id) where detail ? 'operator';
-- The erasure of personal data: events about people other than their actor, which are few.
create index audit_event_people on audit_event (id) where detail ?| array['account', 'email', 'invitation'];

-- The audit trail can only grow. The service may insert into it and read it. The owner of the table deletes old events
-- (src/commands/prune-audit.ts).
do $$
declare
  grantee text;
begin
  for grantee in
    select distinct acl.grantee::regrole::text
      from pg_class c cross join lateral aclexplode(c.relacl) acl
     where c.oid = 'audit_event'::regclass and acl.grantee <> c.relowner and acl.grantee <> 0
  loop
    execute format('revoke update, delete, truncate on audit_event from %s', grantee);
  end loop;
end
$$;

-- Only the functions below may call it.
create function erase_person(erased_id text, email_keys text[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  update public.audit_event set address = null where account_id = erased_id and address is not null;
  update public.audit_event set detail = detail - 'name'
   where detail ?| array['account', 'email', 'invitation'] and detail ->> 'account' = erased_id and detail ? 'name';
  update public.audit_event set detail = detail - 'email', email_key = null
   where detail ?| array['account', 'email', 'invitation'] and detail ? 'email'
     and (email_key = any (email_keys)
          or detail ->> 'invitation' in (
               select detail ->> 'invitation' from public.audit_event
                where account_id = erased_id and kind = 'invitation.accepted'));
end
$$;
revoke execute on function erase_person from public;

-- Erases events that were stored after the deletion of the account.
create function erase_audit_events(erased_id text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from public.deleted_account where id = erased_id)
     or exists (select from public.account where id = erased_id) then
    raise exception 'the account % was not deleted', erased_id;
  end if;
  perform public.erase_person(erased_id, '{}');
end
$$;

-- Anybody can register with the e-mail address of somebody else, so an e-mail address that was not confirmed stays in
-- the trail.
create function forget_account() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from public.deleted_account where id = old.id) then
    perform public.erase_person(old.id, case when old.email_verified or old.email is null
      then array[old.username_key, coalesce(old.email_key, old.username_key)] else '{}' end);
  end if;
  return null;
end
$$;
create trigger account_forgotten after delete on account for each row execute function forget_account();
