-- Requests per client and minute, counted over every instance (contract section 7). The columns are those that rate-limiter-flexible
-- expects. Unlogged: after a crash counting starts anew.
create unlogged table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
) with (fillfactor = 50);
create index rate_limit_by_expiry on rate_limit (expire);
