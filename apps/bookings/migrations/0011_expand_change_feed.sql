-- The change feed: every booking of a facility at its latest change, in the order of change numbers.
alter table facility
  -- The highest change number of the facility.
  add column change_number bigint not null default 0,
  -- The highest change number among the deleted bookings that were removed from the feed after the retention period.
  add column removed_change_number bigint not null default 0,
  -- The bookings up to this id have been entered into the feed. Null after all of them have been.
  add column feed_filled_to uuid default '00000000-0000-0000-0000-000000000000';

-- The booking as it was before it was deleted. Null for every other change.
alter table booking_change add column last_state jsonb;

create table booking_feed (
  facility_id text not null,
  booking_id uuid not null,
  -- The change number of the latest change.
  number bigint not null,
  -- The change number at which the booking came to this facility.
  first_number bigint not null,
  version integer not null,
  deleted boolean not null,
  last_state jsonb,
  changed_at timestamptz(3) not null,
  constraint booking_feed_pk primary key (facility_id, booking_id)
);
create unique index booking_feed_by_number on booking_feed (facility_id, number);
create index booking_feed_deleted on booking_feed (changed_at) where deleted;
