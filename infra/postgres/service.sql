-- Creates the database of a service and its two roles. NAME_owner runs the migrations. NAME_service may only read and
-- write rows, except for the applied migrations and the events of the audit trail. Run this script with psql 14 or later
-- as a superuser, or as a role with CREATEDB and CREATEROLE. The script can run again. It sets only the passwords that
-- the environment contains, because other users of the machine can see arguments:
--   OWNER_PASSWORD=… SERVICE_PASSWORD=… psql -v ON_ERROR_STOP=1 -v name=bookings -f infra/postgres/service.sql
-- `-v service=bookings_service_2` creates a second login for the service. Use it to change the password without
-- downtime.
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD
\set owner :name _owner
\if :{?service} \else \set service :name _service \endif

select format('create role %I login', role) from unnest(array[:'owner', :'service']) role
where not exists (select from pg_roles where rolname = role) \gexec
\if :{?owner_password}
alter role :"owner" password :'owner_password';
\endif
\if :{?service_password}
alter role :"service" password :'service_password';
\endif
-- Managed database servers provide no superuser. Another role can create a database for an owner only if it has the
-- privileges of the owner role. Since PostgreSQL 16, the role that creates another role does not have the privileges of
-- the new role, but may grant them to itself.
select format('grant %I to current_user', role) from unnest(array[:'owner', :'service']) role
where not pg_has_role(role, 'usage') \gexec
select format('create database %I owner %I', :'name', :'owner')
where not exists (select from pg_database where datname = :'name') \gexec

revoke all on database :"name" from public;
grant connect on database :"name" to :"service";

-- The timeouts are settings of the role, so they also apply behind a connection pooler and on every node of a cluster.
-- They are shorter than the query timeout of the service (8 s), so that PostgreSQL cancels a statement before the
-- service gives up.
alter role :"service" in database :"name" set timezone = 'UTC';
alter role :"service" in database :"name" set datestyle = 'ISO, YMD';
alter role :"service" in database :"name" set statement_timeout = '5s';
alter role :"service" in database :"name" set lock_timeout = '2s';
alter role :"service" in database :"name" set idle_in_transaction_session_timeout = '10s';
select format('alter role %I in database %I set transaction_timeout = %L', :'service', :'name', '15s')
where current_setting('server_version_num')::int >= 170000 \gexec
alter role :"owner" in database :"name" set timezone = 'UTC';
alter role :"owner" in database :"name" set datestyle = 'ISO, YMD';
alter role :"owner" in database :"name" set lock_timeout = '3s';

\connect :"name"
grant usage on schema public to :"service";
revoke create on schema public from public;
grant create, usage on schema public to :"owner";
-- The first two statements are for the tables and sequences of later migrations. The other two are for existing tables
-- and sequences.
alter default privileges for role :"owner" in schema public grant select, insert, update, delete on tables to :"service";
alter default privileges for role :"owner" in schema public grant usage, select on sequences to :"service";
grant select, insert, update, delete on all tables in schema public to :"service";
grant usage, select on all sequences in schema public to :"service";
-- The service only reads the applied migrations.
select format('revoke insert, update, delete, truncate on schema_migration from %I', :'service')
where to_regclass('public.schema_migration') is not null \gexec
-- The service may only insert into the audit trail of auth and read it. The owner deletes old events.
select format('revoke update, delete, truncate on audit_event from %I', :'service')
where to_regclass('public.audit_event') is not null \gexec
