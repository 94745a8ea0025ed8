-- How a device polls the token endpoint with its device code (RFC 8628 section 3.5). Null for other artifacts, and until
-- the first poll. The interval is in seconds.
alter table oidc_artifact add column next_poll_at timestamptz, add column poll_interval integer;
