-- Opening hours, closures and holds (docs/decisions/0012-one-rule-for-free-bays.md). facility_id leads every key.
set local lock_timeout = '10s';

-- { "weekly": { "monday": [{ "opens", "closes" }] }, "exceptions": [{ "date", "hours" }] }; null: always open.
alter table location add column opening_hours jsonb;

-- rules_version increases with every change of the opening hours and closures of the bay. held_until is the latest
-- expiry of all holds of the bay. The statement that writes a booking locks the row of the bay, and PostgreSQL then
-- compares both columns with their newest values.
alter table bay add column rules_version integer not null default 0;
alter table bay add column held_until timestamptz(3);

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
create index booking_closure_by_end on booking_closure (facility_id, end_date);

create table booking_hold (
  facility_id text not null,
  id uuid not null,
  bay_id text not null,
  client_id text not null,
  subject text not null,
  start_date timestamptz(3) not null,
  end_date timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  correlation_id text,
  constraint booking_hold_pk primary key (facility_id, id),
  constraint booking_hold_bay_fk foreign key (facility_id, bay_id) references bay (facility_id, id)
);
create index booking_hold_by_bay on booking_hold (facility_id, bay_id, expires_at);
create index booking_hold_by_client on booking_hold (client_id, subject, expires_at);
create index booking_hold_by_expiry on booking_hold (expires_at);

-- One row per client and subject. A request that creates a hold locks the row, so that it can count the client's holds.
create table booking_hold_client (
  id text primary key
);
