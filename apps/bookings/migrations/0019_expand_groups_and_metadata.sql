-- no transaction
-- Several bookings of one request have the same group_id. metadata has the client's own fields: names and texts.
create extension if not exists btree_gin;
alter table booking add column if not exists group_id uuid, add column if not exists metadata jsonb;
create index concurrently if not exists booking_by_group on booking (facility_id, group_id) where group_id is not null;
-- Without the list of pending entries (fastupdate), which every search would have to read completely.
create index concurrently if not exists booking_by_metadata on booking using gin (facility_id, metadata jsonb_path_ops)
  with (fastupdate = off) where metadata is not null;
