-- One log of changes (docs/decisions/0008-log-of-changes.md). booking_change becomes a log that keeps its rows, and replaces
-- booking_feed. Instances of earlier releases cannot write bookings any more. Requests that write bookings wait meanwhile.
set local lock_timeout = '10s';
lock table facility, booking, booking_change, booking_feed, booking_count in share row exclusive mode;

-- Temporary tables are local on a distributed database too, where joins of local tables have no restrictions.
create temporary table old_booking on commit drop as select facility_id, id, version from booking;
create temporary table old_entry on commit drop as select facility_id, booking_id, version, deleted from booking_feed;
create temporary table old_change on commit drop as
  select facility_id, booking_id, version, last_state from booking_change;
create temporary table old_head on commit drop as select id as facility_id, change_number from facility;

-- The changes that have no number yet.
create temporary table unnumbered on commit drop as
select facility_id, booking_id, version, deleted, last_state,
  change_number + row_number() over (partition by facility_id order by booking_id) as number
from (
  select booking.facility_id, id as booking_id, booking.version, false as deleted, null::jsonb as last_state
  from old_booking booking left join old_entry entry
    on entry.facility_id = booking.facility_id and booking_id = id and entry.version = booking.version and not deleted
  where booking_id is null
  union all
  select change.facility_id, booking_id, max(change.version), true,
    (array_agg(last_state order by change.version desc, last_state is null))[1]
  from (
    select facility_id, booking_id, version, last_state from old_change
    union all
    select facility_id, booking_id, version + 1, null from old_entry where not deleted
  ) change left join old_booking booking on booking.facility_id = change.facility_id and id = booking_id
  where id is null group by change.facility_id, booking_id
) stale join old_head using (facility_id);

insert into booking_feed (facility_id, booking_id, number, first_number, version, deleted, last_state, changed_at)
select facility_id, booking_id, number, number, version, deleted, last_state, now() from unnumbered
on conflict (facility_id, booking_id) do update set number = excluded.number, version = excluded.version,
  first_number = case when booking_feed.deleted then excluded.number else booking_feed.first_number end,
  deleted = excluded.deleted, last_state = excluded.last_state, changed_at = excluded.changed_at;

update facility set change_number = latest.number
from (select facility_id, max(number) as number from unnumbered group by facility_id) latest
where latest.facility_id = facility.id;

create temporary table starts on commit drop as
select facility_id, location_id, date_bin('1 hour', start_date, timestamptz '1970-01-01 00:00Z') as hour, count(*) as n
from booking group by 1, 2, 3;
delete from booking_count;
insert into booking_count (facility_id, location_id, span, begins, n)
select facility_id, case when is_of_location then location_id else '' end, span,
  date_bin(make_interval(hours => span), hour, timestamptz '1970-01-01 00:00Z'), sum(n)
from starts
cross join (values (false, 1), (false, 24), (false, 768), (true, 24), (true, 768)) bin_kind (is_of_location, span)
group by 1, 2, 3, 4;

create table booking_log (
  facility_id text not null,
  booking_id uuid not null,
  -- The version of the booking after the change. A deletion counts as one more version.
  version integer not null,
  -- The change number, in the order in which readers see the changes of the facility. Null until compaction, which also
  -- counts the change in booking_count.
  number bigint,
  -- The number of the change with which the booking came to this facility. Set with number.
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
  after jsonb
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

insert into booking_log (facility_id, booking_id, version, number, first_number, latest, at, action, after)
select booking.facility_id, id, booking.version, number, first_number, true, created_at, 'created', jsonb_build_object(
  'id', id, 'externalBookingId', external_booking_id, 'correlationId', correlation_id, 'bayId', bay_id,
  'locationId', location_id, 'userAlias', user_alias,
  'startDate', to_char(start_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'endDate', to_char(end_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'createdAt', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'lastUpdatedAt', to_char(last_updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
from booking join booking_feed feed on feed.facility_id = booking.facility_id and feed.booking_id = booking.id;

create temporary table old_deletion on commit drop as select * from booking_feed where deleted;
create temporary table old_bay on commit drop as select facility_id, id, location_id from bay;
-- The times of last_state have the time zone of the session that deleted the booking.
insert into booking_log (facility_id, booking_id, version, number, first_number, latest, at, action, before)
select deletion.facility_id, booking_id, version, number, first_number, true, changed_at, 'deleted',
  last_state - 'facilityId' - 'version' || jsonb_build_object(
    'locationId', location_id,
    'startDate', to_char((last_state ->> 'startDate')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'endDate', to_char((last_state ->> 'endDate')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'createdAt', to_char((last_state ->> 'createdAt')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'lastUpdatedAt',
    to_char((last_state ->> 'lastUpdatedAt')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
from old_deletion deletion
left join old_bay bay on bay.facility_id = deletion.facility_id and bay.id = last_state ->> 'bayId';

alter table booking_log add constraint booking_log_pk primary key (facility_id, booking_id, version);
create unique index booking_change_by_number on booking_log (facility_id, number) where number is not null;
create index booking_change_unnumbered on booking_log (facility_id) where number is null;
-- The changes that are removed after the retention period.
create index booking_change_by_age on booking_log (at) where number is not null and (not latest or action = 'deleted');
analyze booking_log;

drop table booking_change, booking_feed, booking_count_state;
alter table booking_log rename to booking_change;
alter index booking_log_pk rename to booking_change_pk;
alter table facility drop column feed_filled_to;
alter table bay drop column held_until, drop column rules_version;
