-- What is booked, where, and by which reference. Contract sections 2 and 7.
-- facility_id leads every key, so that the tables can be spread over several nodes by facility. The only tables without it are
-- booking_reference and idempotency_key, whose uniqueness spans facilities: one text key each, no foreign key, no join.
create extension if not exists btree_gist;

create table facility (
  id text primary key,
  name text not null,
  time_zone text not null
);

create table location (
  facility_id text not null references facility (id),
  id text not null,
  name text not null,
  constraint location_pk primary key (facility_id, id)
);

create table bay (
  facility_id text not null,
  id text not null,
  location_id text not null,
  name text not null,
  description text not null,
  kind text not null,
  bookable boolean not null,
  constraint bay_pk primary key (facility_id, id),
  constraint bay_location_fk foreign key (facility_id, location_id) references location (facility_id, id)
);
create index bay_by_location on bay (facility_id, location_id);

-- location_id is the bay's, repeated here for searches; the import of a bay that changes its location carries it along.
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
  constraint booking_pk primary key (facility_id, id),
  constraint booking_bay_fk foreign key (facility_id, bay_id) references bay (facility_id, id),
  constraint booking_dates check (end_date >= start_date),
  -- Half-open, so that back to back is no overlap; an instant is a closed range, which would else be empty and overlap nothing.
  constraint booking_no_overlap exclude using gist (
    facility_id with =,
    bay_id with =,
    tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end) with &&
  )
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create index booking_by_start on booking (facility_id, start_date, id);
create index booking_by_location on booking (facility_id, location_id, start_date, id);
create index booking_by_alias on booking (facility_id, user_alias, start_date, id);
create index booking_by_external_id on booking (facility_id, external_booking_id) where external_booking_id is not null;
create index booking_by_correlation on booking (facility_id, correlation_id) where correlation_id is not null;

-- externalBookingId is unique over the whole service.
create table booking_reference (
  external_booking_id text primary key,
  facility_id text not null,
  booking_id uuid not null
);

-- What was answered to a POST with an Idempotency-Key; id is the SHA-256 of client and key.
create table idempotency_key (
  id text primary key,
  request_hash text not null,
  facility_id text not null,
  answer text not null,
  created_at timestamptz(3) not null
);
create index idempotency_key_by_age on idempotency_key (created_at);

-- One row, locked by an import: ids of places are unique over the whole service, which no key that starts with facility_id can hold.
create table import_lock (
  id integer primary key
);
insert into import_lock values (1);
