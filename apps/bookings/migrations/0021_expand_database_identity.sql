-- Recognises a database that was restored from a backup (changes/restore.ts).
create table database_identity (
  id smallint primary key check (id = 1),
  -- The system identifier and the timeline of the server. The timeline is a new one after a restore or promotion.
  value text not null,
  -- New facilities start after this change number. 0 until the database was restored.
  first_number bigint not null
);
insert into database_identity
select 1, system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8), 0 from pg_control_system();
