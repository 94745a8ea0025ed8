-- Names in the order of people: each number has 20 digits, so that Bay 2 comes before Bay 10. Not every server has a
-- collation with this order.
alter table location add column name_order text collate "C" generated always as (
  regexp_replace(
    regexp_replace(name collate "C", '([0-9]+)', repeat('0', 20) || '\1', 'g'), '[0-9]*([0-9]{20})', '\1', 'g'
  )
) stored;
alter table bay add column name_order text collate "C" generated always as (
  regexp_replace(
    regexp_replace(name collate "C", '([0-9]+)', repeat('0', 20) || '\1', 'g'), '[0-9]*([0-9]{20})', '\1', 'g'
  )
) stored;

-- The closures that overlap an interval, from the index alone. Takes the place of booking_closure_by_end.
create index booking_closure_by_time on booking_closure (facility_id, end_date, start_date);
drop index booking_closure_by_end;
