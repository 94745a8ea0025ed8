-- no transaction
-- What is going on began within the last four hours, or is one of these.
create index concurrently if not exists booking_long on booking (facility_id, end_date) include (start_date, id, location_id)
  where end_date - start_date > interval '4 hours';
