-- One service's database and its two roles: NAME_owner runs the migrations, NAME_service may read and write rows and nothing else.
-- As a superuser (or a role with CREATEDB and CREATEROLE), safe to run again; of the two passwords it sets those that are given:
--   psql -v ON_ERROR_STOP=1 -v name=bookings -v owner_password=… -v service_password=… -f infra/postgres/service.sql "$ADMIN_URL"
-- `-v service=bookings_service_2` makes a second login beside the first, to change the password without a pause.
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
-- Managed servers give no superuser: to hand a database to a role, or to take from it what it has, one has to have its privileges. Whoever
-- made a role may give it to others, but has none of them (since PostgreSQL 16).
select format('grant %I to current_user', role) from unnest(array[:'owner', :'service']) role
where not pg_has_role(role, 'usage') \gexec
select format('create database %I owner %I', :'name', :'owner')
where not exists (select from pg_database where datname = :'name') \gexec

revoke all on database :"name" from public;
grant connect on database :"name" to :"service";

-- Limits live with the role, so that they hold through any pooler and on every node of a cluster. The service's own query time-out (8 s)
-- is above them, so that the server gives up first.
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
-- Whatever the owner creates from now on, and what there is already.
alter default privileges for role :"owner" in schema public grant select, insert, update, delete on tables to :"service";
alter default privileges for role :"owner" in schema public grant usage, select on sequences to :"service";
grant select, insert, update, delete on all tables in schema public to :"service";
grant usage, select on all sequences in schema public to :"service";
