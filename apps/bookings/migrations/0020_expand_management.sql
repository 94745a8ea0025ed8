-- Facilities, locations and bays that an operator removed keep their rows: past bookings and the log of changes need them.
set local lock_timeout = '10s';
alter table facility add column removed_at timestamptz(3);
alter table location add column removed_at timestamptz(3);
-- A removed bay is also not bookable, because instances of earlier releases do not know removed_at.
alter table bay add column removed_at timestamptz(3);

-- An id is unique over all facilities, and the management API finds a row by its id alone.
create index location_by_id on location (id);
create index bay_by_id on bay (id);

-- The changes of facilities, locations and bays by the management API or an import. Written under import_lock, so the
-- order of numbers is the order in which readers see the rows.
create table management_event (
  number bigint generated always as identity primary key,
  at timestamptz(3) not null,
  action text not null,
  client_id text not null,
  facility_id text not null,
  target text not null,
  changed text[] not null
);
create index management_event_by_facility on management_event (facility_id, number);

create table facility_activity (
  facility_id text primary key,
  last_request_at timestamptz(3) not null
);
