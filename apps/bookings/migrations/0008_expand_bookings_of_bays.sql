-- no transaction
-- The bookings of some bays, in order and counted, whenever they are.
create index concurrently if not exists booking_by_bay on booking (facility_id, bay_id, start_date, id) include (end_date);
