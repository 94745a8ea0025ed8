-- no transaction
-- booking_by_time answers what this index did.
drop index concurrently if exists booking_by_start;
