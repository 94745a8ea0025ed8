-- Rights at the Bookings API: the role Facility Manager, what a personal access token may do, the list of revocations,
-- and the deletion of accounts.

alter table membership drop constraint membership_role_known, add constraint membership_role_known
  check (role in ('owner', 'staff', 'bookings-manager', 'facility-manager'));
alter table invitation drop constraint invitation_role_known, add constraint invitation_role_known
  check (role in ('staff', 'bookings-manager', 'facility-manager'));

alter table facility add column time_zone text not null default 'UTC';

alter table client
  -- Of a personal access token. Without facility_ids, the token is for every facility of its account.
  add column access text not null default 'write'
    constraint client_access_known check (access in ('read', 'write', 'manage')),
  add column facility_ids text[],
  -- The value of expires_at for which the list of revocations has an entry.
  add column expiry_published_for timestamptz,
  -- The number of days before the expiry for which an e-mail was last sent: 14, then 3.
  add column expiry_reminder integer;
create index client_expires on client (expires_at) where expires_at is not null;

-- The person whose name the e-mail contains, besides its recipient.
alter table mail add column account_id text;

-- The id of a deleted account is never used again.
create table deleted_account (
  id text primary key,
  deleted_at timestamptz not null default now()
);

-- Rights that have ended while access tokens with them may still be valid. Resource servers read the list.
create table revocation (
  number bigint generated always as identity primary key,
  -- The SHA-256 of what has ended, such as `grant ID`.
  id text not null unique,
  -- Tokens with an earlier `iat` are refused.
  before bigint not null,
  expires_at timestamptz not null
);
create index revocation_expires on revocation (expires_at);

-- The lock makes the order of the numbers the order of the commits, so a reader of the list never misses an entry. The
-- triggers run at the end of their transaction, so nothing is locked after this lock.
create function add_revocation(ended text, kept interval default null) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(4206912024);
  insert into revocation (id, before, expires_at)
  values (translate(rtrim(encode(sha256(convert_to(ended, 'UTF8')), 'base64'), '='), '+/', '-_'),
          floor(extract(epoch from clock_timestamp()))::bigint + 1,
          -- Without `kept`, the longest lifetime of an access token, and a minute because clocks differ.
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
create constraint trigger client_reduced after update of disabled_at, account_id, access, facility_ids on client
  deferrable initially deferred
  for each row when (
    (old.disabled_at is null and new.disabled_at is not null)
    or old.account_id is distinct from new.account_id
    or array_position(array['read', 'write', 'manage'], new.access)
       < array_position(array['read', 'write', 'manage'], old.access)
    or (new.facility_ids is not null and (old.facility_ids is null or not old.facility_ids <@ new.facility_ids)))
  execute function revoke_client();

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

-- The events about people other than their actor, which are few.
create index audit_event_people on audit_event (id) where detail ?| array['account', 'email', 'invitation'];

-- Removes the personal data of a deleted account from the audit trail, which the service cannot change (migration 0008):
-- IP addresses of its own events, its names, and its e-mail addresses (in lower case), also in invitations to it.
create function erase_audit_events(erased_id text, emails text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from public.account where id = erased_id) then
    raise exception 'the account % exists', erased_id;
  end if;
  update public.audit_event set address = null where account_id = erased_id and address is not null;
  update public.audit_event set detail = detail - 'name'
   where detail ?| array['account', 'email', 'invitation'] and detail ->> 'account' = erased_id and detail ? 'name';
  update public.audit_event set detail = detail - 'email'
   where detail ?| array['account', 'email', 'invitation'] and detail ? 'email'
     and (lower(detail ->> 'email') = any (emails)
          or detail ->> 'invitation' in (
               select detail ->> 'invitation' from public.audit_event
                where account_id = erased_id and kind = 'invitation.accepted'));
end
$$;
