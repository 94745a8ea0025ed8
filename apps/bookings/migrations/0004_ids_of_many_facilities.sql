-- Hundreds of ids in a hundred facilities are hundreds of look-ups, not tens of thousands: here the id leads. No key, so no rule about
-- facility_id is broken; each node of a spread table has its own part of these indexes.
set local lock_timeout = '10s';
drop index booking_by_external_id;
create index booking_by_external_id on booking (external_booking_id, facility_id) where external_booking_id is not null;
drop index booking_by_correlation;
create index booking_by_correlation on booking (correlation_id, facility_id) where correlation_id is not null;
create index booking_by_id on booking (id);
