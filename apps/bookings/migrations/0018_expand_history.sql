-- no transaction
-- History and erasure (docs/behaviour.md, "History" and "Erasing"). Each state that a booking has left is `before` in a
-- later row of the log, so most of these indexes cost nothing when a booking is created.

-- before_time: the time that the booking occupied before the change.
-- other_facility_id: for a move, the facility from which the booking came or to which it went.
alter table booking_change add column if not exists before_time tstzrange,
  add column if not exists other_facility_id text;
update booking_change set before_time = tstzrange(
  (before ->> 'startDate')::timestamptz, (before ->> 'endDate')::timestamptz,
  case when before ->> 'startDate' = before ->> 'endDate' then '[]' else '[)' end
) where before is not null and before_time is null;

-- The history of a facility, newest first. Compaction adds the rows, when it gives them their numbers.
create index concurrently if not exists booking_change_by_time on booking_change (facility_id, at)
  where number is not null;
create index concurrently if not exists booking_change_by_former_place on booking_change
  using gist (facility_id, (before ->> 'bayId'), before_time) where number is not null and before_time is not null;
create index concurrently if not exists booking_change_by_former_alias on booking_change
  (facility_id, (before ->> 'userAlias')) where before is not null;

-- Bookings and deletions that PERSONAL_DATA_DAYS concerns.
create index concurrently if not exists booking_personal on booking (end_date) where user_alias <> 'erased';
create index concurrently if not exists booking_change_personal on booking_change ((before ->> 'endDate'))
  where after is null and other_facility_id is null and before ->> 'userAlias' <> 'erased';

-- Retention. The feed loses a deletion earlier than the history does.
create index concurrently if not exists booking_change_deleted on booking_change (at) where latest and after is null;
create index concurrently if not exists booking_change_superseded on booking_change (at)
  where number is not null and not latest;
drop index concurrently if exists booking_change_by_age;
