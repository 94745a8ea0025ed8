-- How many bookings start when: totals and deep pages of long lists (contract section 7) are summed up, not counted row by row.
-- Whoever writes a booking adds a row to booking_change in the same statement; housekeeping folds these into booking_count. A sum over
-- both is exact at any moment. facility_id leads both keys.
create table booking_change (
  facility_id text not null,
  booking_id uuid not null,
  version integer not null,
  -- 1: starts within that hour from this version on; -1: no longer does.
  n smallint not null,
  location_id text not null,
  hour timestamptz(0) not null,
  constraint booking_change_pk primary key (facility_id, booking_id, version, n)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1);

create table booking_count (
  facility_id text not null,
  -- '' for the facility as a whole.
  location_id text not null,
  -- In hours: 1 (of facilities alone), 24, 768.
  span smallint not null,
  begins timestamptz(0) not null,
  n integer not null,
  constraint booking_count_pk primary key (facility_id, location_id, span, begins)
) with (fillfactor = 80);

-- Until every booking has been counted by `npm run recount`, totals are counted row by row. Where no facility is known there is none to count.
create table booking_count_state (
  id integer primary key,
  complete boolean not null
);
insert into booking_count_state select 1, not exists (select 1 from facility);

-- How few bookings are long (0007): without it the planner takes a third of them to be.
create statistics booking_length on (end_date - start_date) from booking;
-- And a bay lies in one location of one facility: else it takes the bookings of a bay to be a handful.
create statistics booking_places (dependencies) on facility_id, location_id, bay_id from booking;
analyze booking;
