-- The total of a location's day (contract section 7) is counted from the index alone when the index knows the ends too.
set local lock_timeout = '10s';
drop index booking_by_location;
create index booking_by_location on booking (facility_id, location_id, start_date, id) include (end_date);
