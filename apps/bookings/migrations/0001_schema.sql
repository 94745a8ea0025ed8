-- The schema of the Bookings API: places, closures, bookings, their log of changes, holds, webhooks, and what all
-- instances share.
--
-- facility_id leads the keys, so that Citus can keep all rows of a facility on one node (src/database/distribution.ts).
-- Until version 1.0.0 is tagged, changes edit this file (CONTRIBUTING.md, "Migrations").
create extension if not exists btree_gist;
create extension if not exists btree_gin;

---------------------------------------------------------------------------------------------------- places

-- Places that an operator removed keep their rows: past bookings and the log of changes need them.
create table facility (
  id text primary key,
  name text not null,
  time_zone text not null,
  -- The highest change number of the facility.
  change_number bigint not null default 0,
  -- The highest change number among the deletions that the feed no longer has.
  removed_change_number bigint not null default 0,
  removed_at timestamptz(3)
);

-- name_order: the name with 20 digits for each number, so that Bay 2 comes before Bay 10. Not every server has a
-- collation with this order.
create table location (
  facility_id text not null references facility (id),
  id text not null,
  name text not null,
  -- { "weekly": { "monday": [{ "opens", "closes" }] }, "exceptions": [{ "date", "hours" }] }; null: always open.
  opening_hours jsonb,
  name_order text collate "C" generated always as (
    regexp_replace(
      regexp_replace(name collate "C", '([0-9]+)', repeat('0', 20) || '\1', 'g'), '[0-9]*([0-9]{20})', '\1', 'g'
    )
  ) stored,
  removed_at timestamptz(3),
  constraint location_pk primary key (facility_id, id)
);
-- The management API finds a location by its id alone.
create index location_by_id on location (id);

create table bay (
  facility_id text not null,
  id text not null,
  location_id text not null,
  name text not null,
  description text not null,
  kind text not null,
  bookable boolean not null,
  name_order text collate "C" generated always as (
    regexp_replace(
      regexp_replace(name collate "C", '([0-9]+)', repeat('0', 20) || '\1', 'g'), '[0-9]*([0-9]{20})', '\1', 'g'
    )
  ) stored,
  removed_at timestamptz(3),
  constraint bay_pk primary key (facility_id, id),
  constraint bay_location_fk foreign key (facility_id, location_id) references location (facility_id, id)
);
-- The bays of a location: lists, availability, and closures of a location.
create index bay_by_location on bay (facility_id, location_id);
-- The management API finds a bay by its id alone.
create index bay_by_id on bay (id);

-- Every change of places locks the row: ids are unique over all facilities, which no key of a distributed table can
-- guarantee.
create table import_lock (
  id integer primary key
);
insert into import_lock values (1);

-- The changes of places by the management API, an import or a person at the facility. Written under import_lock, so
-- readers see the rows in the order of their numbers.
create table management_event (
  number bigint generated always as identity primary key,
  at timestamptz(3) not null,
  action text not null,
  client_id text not null,
  -- The person. Null: an operator.
  subject text,
  facility_id text not null,
  target text not null,
  changed text[] not null
);
-- The audit list of one facility.
create index management_event_by_facility on management_event (facility_id, number);

-- When a token last used a facility, for the status in the management API.
create table facility_activity (
  facility_id text primary key,
  last_request_at timestamptz(3) not null
);

-------------------------------------------------------------------------------------------------- closures

-- A closure has either bay_ids or location_id.
create table booking_closure (
  facility_id text not null,
  id uuid not null,
  bay_ids text[],
  location_id text,
  start_date timestamptz(3) not null,
  end_date timestamptz(3) not null,
  reason text,
  created_at timestamptz(3) not null,
  last_updated_at timestamptz(3) not null,
  constraint booking_closure_pk primary key (facility_id, id),
  constraint booking_closure_dates check (end_date > start_date),
  constraint booking_closure_place check ((bay_ids is null) <> (location_id is null))
);
-- The closures of an interval: every write of a booking or hold, availability, and the list of closures.
create index booking_closure_by_time on booking_closure (facility_id, end_date, start_date);

-------------------------------------------------------------------------------------------------- bookings

-- location_id is the location of the bay, for searches. The bookings of a group have the same group_id.
create table booking (
  facility_id text not null,
  id uuid not null,
  location_id text not null,
  bay_id text not null,
  external_booking_id text,
  correlation_id text,
  user_alias text not null,
  start_date timestamptz(3) not null,
  end_date timestamptz(3) not null,
  created_at timestamptz(3) not null,
  last_updated_at timestamptz(3) not null,
  version integer not null default 1,
  group_id uuid,
  -- The client's own fields: names and strings.
  metadata jsonb,
  -- GET, PUT and DELETE of a booking. The id leads: a search for hundreds of ids in a hundred facilities is then hundreds
  -- of look-ups, not tens of thousands.
  constraint booking_pk primary key (id, facility_id),
  constraint booking_bay_fk foreign key (facility_id, bay_id) references bay (facility_id, id),
  constraint booking_dates check (end_date >= start_date),
  -- The last line of defence against double bookings. Half-open ranges do not overlap if one ends when the other begins.
  -- A booking without a duration is a closed range, because an empty range overlaps nothing. Deferrable: checked after
  -- each statement, so one statement can exchange the bays of two bookings. A hash of the bay id, because a GiST index
  -- compares numbers faster than text: an insert then takes two thirds of the CPU time. Collisions of 64 bits are less
  -- likely than a broken disk.
  constraint booking_no_overlap exclude using gist (
    hashtextextended(bay_id, 0) with =,
    tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end) with &&,
    facility_id with =
  ) deferrable
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
-- Counts the bookings of a facility. This index is a tenth of the size of the others, so PostgreSQL counts a million
-- bookings in 75 ms instead of 290.
create index booking_by_facility on booking (facility_id);
-- Searches and totals of a facility by time, and upcoming bookings, from the index alone.
create index booking_by_time on booking (facility_id, start_date, id) include (end_date);
-- The same for a location.
create index booking_by_location on booking (facility_id, location_id, start_date, id) include (end_date);
-- The same for bays.
create index booking_by_bay on booking (facility_id, bay_id, start_date, id) include (end_date);
-- Bookings that are going on began within the last four hours or are in this index.
create index booking_long on booking (facility_id, end_date) include (start_date, id, location_id)
  where end_date - start_date > interval '4 hours';
-- Searches by userAlias, and the erasure of an alias.
create index booking_by_alias on booking (facility_id, user_alias, start_date, id);
-- Searches by externalBookingId, correlationId and groupId. Bookings without the field are not in the index.
create index booking_by_external_id on booking (external_booking_id, facility_id)
  where external_booking_id is not null;
create index booking_by_correlation on booking (correlation_id, facility_id) where correlation_id is not null;
create index booking_by_group on booking (facility_id, group_id) where group_id is not null;
-- Searches by metadata. A list of pending entries (fastupdate) would be read completely by every search.
create index booking_by_metadata on booking using gin (facility_id, metadata jsonb_path_ops)
  with (fastupdate = off) where metadata is not null;
-- Bookings whose personal data PERSONAL_DATA_DAYS erases.
create index booking_personal on booking (end_date) where user_alias <> 'erased';
-- The planner would otherwise expect that a third of the bookings are long, and that a bay has a handful of bookings.
create statistics booking_length on (end_date - start_date) from booking;
create statistics booking_places (dependencies) on facility_id, location_id, bay_id from booking;

-- externalBookingId is unique over all facilities.
create table booking_reference (
  external_booking_id text primary key,
  facility_id text not null,
  booking_id uuid not null
);

-- The log of changes: feed, webhooks, history and retention read it (docs/decisions.md).
create table booking_change (
  facility_id text not null,
  booking_id uuid not null,
  -- The version of the booking after the change. A deletion counts as one more version.
  version integer not null,
  -- The change number, in the order that readers see. Null until compaction.
  number bigint,
  -- The number of the change that brought the booking to this facility. Set with number.
  first_number bigint,
  -- Whether this is the numbered change of the booking with the highest version.
  latest boolean not null default false,
  at timestamptz(3) not null,
  action text not null,
  -- The author of the change. Null: the service itself.
  client_id text,
  subject text,
  request_id text,
  -- The public fields of the booking and its locationId.
  before jsonb,
  after jsonb,
  -- The time that the booking occupied before the change.
  before_time tstzrange,
  -- For a move, the facility that the booking came from or went to.
  other_facility_id text,
  constraint booking_change_pk primary key (facility_id, booking_id, version)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
-- The feed.
create unique index booking_change_by_number on booking_change (facility_id, number) where number is not null;
-- Compaction and the feed find the changes without a number, compaction in this order.
create index booking_change_unnumbered on booking_change (facility_id, booking_id, version) where number is null;
-- The history of a facility, newest first.
create index booking_change_by_time on booking_change (facility_id, at) where number is not null;
-- The history of a bay and a time, and of an alias. A state that a booking has left is `before` in a later row, so a new
-- booking is in neither index.
create index booking_change_by_former_place on booking_change
  using gist (facility_id, (before ->> 'bayId'), before_time) where number is not null and before_time is not null;
create index booking_change_by_former_alias on booking_change (facility_id, (before ->> 'userAlias'))
  where before is not null;
-- Retention. The feed loses a deletion earlier than the history does.
create index booking_change_deleted on booking_change (at) where latest and after is null;
create index booking_change_superseded on booking_change (at) where number is not null and not latest;
-- Deletions whose personal data PERSONAL_DATA_DAYS erases.
create index booking_change_personal on booking_change ((before ->> 'endDate'))
  where after is null and other_facility_id is null and before ->> 'userAlias' <> 'erased';

----------------------------------------------------------------------------------------------------- holds

create table booking_hold (
  facility_id text not null,
  id uuid not null,
  bay_id text not null,
  client_id text not null,
  -- The owner of the hold.
  subject text not null,
  start_date timestamptz(3) not null,
  end_date timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  correlation_id text,
  -- When the token was issued that created the hold.
  authorized_at timestamptz(3) not null,
  constraint booking_hold_pk primary key (facility_id, id),
  constraint booking_hold_bay_fk foreign key (facility_id, bay_id) references bay (facility_id, id)
);
-- Every write of a booking or hold, and availability.
create index booking_hold_by_bay on booking_hold (facility_id, bay_id, expires_at);
-- HOLDS_PER_OWNER.
create index booking_hold_by_owner on booking_hold (facility_id, subject, expires_at);
-- The deletion of expired holds.
create index booking_hold_by_expiry on booking_hold (expires_at);

-- A request that creates a hold locks a row here, so that it can count the holds of the owner.
create table booking_hold_client (
  id text primary key
);

-------------------------------------------------------------------------------------------------- webhooks

-- Webhooks, their position in the change feed of each facility, and their deliveries. On Citus, these tables stay on the
-- coordinator, where one local transaction can change them together.
create table webhook (
  id uuid primary key,
  owner text not null,
  -- Only this client may rotate the secret or change the URL. Null: every personal access token of the owner.
  created_by text,
  -- The client, the grant and the `iat` of the token that created the webhook or changed it last.
  client_id text not null,
  grant_id text,
  token_issued_at timestamptz(0) not null,
  url text not null,
  events text[] not null,
  facility_ids text[] not null,
  description text,
  state text not null default 'active',
  paused_because text,
  failing_since timestamptz(3),
  last_success_at timestamptz(3),
  -- Encrypted with WEBHOOK_KEY. The previous secret also signs until the given time.
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz(3),
  -- The events that replays have sent since replay_since.
  replay_since timestamptz(3),
  replayed_events integer not null default 0,
  created_at timestamptz(3) not null,
  last_updated_at timestamptz(3) not null,
  constraint webhook_state check (state in ('active', 'paused', 'disabled'))
);
-- The list of an owner's webhooks.
create index webhook_by_owner on webhook (owner, created_at, id);
-- The webhooks of a facility.
create index webhook_by_facility on webhook using gin (facility_ids);

-- The facilities that auth has disabled, by their ids in the list of revocations. Their webhooks are paused.
create table disabled_facility (
  id text primary key
);

-- number: every change up to this number has its delivery.
create table webhook_cursor (
  webhook_id uuid not null references webhook (id) on delete cascade,
  facility_id text not null,
  number bigint not null,
  -- A replay sends the changes after replay_number up to replay_until again. Null: there is no replay.
  replay_number bigint,
  replay_until bigint,
  -- Where the replay began. A replay after replay_next continues it.
  replay_from bigint,
  replay_next bigint,
  constraint webhook_cursor_pk primary key (webhook_id, facility_id)
);
-- The feeder finds the cursors of a facility that has changed.
create index webhook_cursor_by_facility on webhook_cursor (facility_id);

create table webhook_delivery (
  id uuid primary key,
  -- No foreign key: a periodic job deletes the deliveries of a deleted webhook, which may be a million.
  webhook_id uuid not null,
  type text not null,
  -- Null for a ping, and so are booking_id and modified, the change number.
  facility_id text,
  booking_id uuid,
  modified bigint,
  -- Only while the delivery is pending.
  body text,
  state text not null default 'pending',
  attempts integer not null default 0,
  last_status integer,
  last_error text,
  last_attempt_at timestamptz(3),
  -- The end of the lease while an instance makes an attempt.
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) not null,
  constraint webhook_delivery_state check (state in ('pending', 'delivered', 'failed')),
  constraint webhook_delivery_next check ((state = 'pending') = (next_attempt_at is not null))
);
-- The worker leases due deliveries.
create index webhook_delivery_due on webhook_delivery (webhook_id, next_attempt_at) where state = 'pending';
-- The feeder limits the deliveries of a facility that nobody has attempted.
create index webhook_delivery_unattempted on webhook_delivery (webhook_id, facility_id)
  where state = 'pending' and attempts = 0;
-- The list of a webhook's deliveries, newest first.
create index webhook_delivery_newest on webhook_delivery (webhook_id, created_at desc, id desc);
-- The deletion of old deliveries.
create index webhook_delivery_by_age on webhook_delivery (created_at);

---------------------------------------------------------------------------------- what all instances share

-- The response to a POST with an Idempotency-Key; id is the SHA-256 of the client and the key.
create table idempotency_key (
  id text primary key,
  request_hash text not null,
  -- Empty for a response of the management API.
  facility_id text not null default '',
  answer text not null,
  created_at timestamptz(3) not null default now()
);
-- The deletion of old responses.
create index idempotency_key_by_age on idempotency_key (created_at);

-- The DPoP proofs that were used, so that each is accepted once (RFC 9449 section 11.1).
create table dpop_proof (
  -- SHA-256 of the key's thumbprint and the jti
  id text primary key,
  expires_at timestamptz not null
);
-- The deletion of expired proofs.
create index dpop_proof_by_expiry on dpop_proof (expires_at);

-- Requests per client and minute. The columns are those of rate-limiter-flexible. Unlogged: counting starts anew after a
-- crash.
create unlogged table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
) with (fillfactor = 50);
-- The deletion of expired counts.
create index rate_limit_by_expiry on rate_limit (expire);

-- Recognises a database that was restored from a backup (changes/restore.ts).
create table database_identity (
  id smallint primary key check (id = 1),
  -- The system identifier and the timeline of the server. The timeline is a new one after a restore or promotion.
  value text not null,
  -- New facilities start after this change number. 0 until the database was restored.
  first_number bigint not null
);
insert into database_identity
select 1, system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8), 0 from pg_control_system();
