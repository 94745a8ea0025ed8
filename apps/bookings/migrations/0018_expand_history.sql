-- no transaction
-- History and erasure (docs/behaviour.md, "History" and "Erasing"). Creating a booking adds to one of these indexes only:
-- each state that a booking has left is `before` in a later row of the log.

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
  (facility_id, (before ->> 'userAlias'), (before ->> 'endDate')) where before is not null;

-- Retention. The feed loses a deletion earlier than the history does.
create index concurrently if not exists booking_change_deleted on booking_change (at) where latest and after is null;
create index concurrently if not exists booking_change_superseded on booking_change (at)
  where number is not null and not latest;
drop index concurrently if exists booking_change_by_age;
