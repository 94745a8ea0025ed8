-- no transaction
-- What is going on at a moment, and between two, of a facility: from the index alone. Takes the place of booking_by_start.
create index concurrently if not exists booking_by_time on booking (facility_id, start_date, id) include (end_date);
