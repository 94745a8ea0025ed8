-- Facilities that are disabled or were deleted, and the responses that the management API repeats.
alter table facility add column disabled_at timestamptz;

-- The id of a deleted facility is never used again.
create table deleted_facility (
  id text primary key,
  deleted_at timestamptz not null default now()
);

create function revoke_members_of_facility() returns trigger language plpgsql as $$
begin
  perform add_revocation('access ' || m.account_id || ' ' || new.id, interval '90 days')
    from membership m where m.facility_id = new.id;
  return null;
end
$$;
create constraint trigger facility_disabled after update of disabled_at on facility deferrable initially deferred
  for each row when (old.disabled_at is null and new.disabled_at is not null)
  execute function revoke_members_of_facility();

-- For `Idempotency-Key`. A row is deleted after 24 hours.
create table management_response (
  id text primary key,
  request_hash text not null,
  response text not null,
  created_at timestamptz not null default now()
);
create index management_response_created on management_response (created_at);
