-- Webhooks, their position in the change feed of each facility, and their deliveries (docs/behaviour.md, "Webhooks").
-- No key starts with facility_id: on Citus, these tables stay on the coordinator, where one local transaction can change them together.
create table webhook (
  id uuid primary key,
  client_id text not null,
  url text not null,
  events text[] not null,
  facility_ids text[] not null,
  description text,
  state text not null default 'active',
  failing_since timestamptz(3),
  -- Encrypted with WEBHOOK_KEY.
  secret text not null,
  -- Signs as well until the given time.
  previous_secret text,
  previous_secret_until timestamptz(3),
  created_at timestamptz(3) not null,
  last_updated_at timestamptz(3) not null,
  constraint webhook_state check (state in ('active', 'paused', 'disabled'))
);
create index webhook_by_client on webhook (client_id, created_at, id);

-- number: every change up to this number has its delivery. seen_at: the client's last request with a token for the facility.
create table webhook_cursor (
  webhook_id uuid not null references webhook (id) on delete cascade,
  facility_id text not null,
  number bigint not null,
  seen_at timestamptz(3) not null,
  -- A replay sends the changes after replay_number up to replay_until again. Null if there is none.
  replay_number bigint,
  replay_until bigint,
  constraint webhook_cursor_pk primary key (webhook_id, facility_id)
);
create index webhook_cursor_by_facility on webhook_cursor (facility_id);

-- next_attempt_at is the end of the lease while an instance makes an attempt.
create table webhook_delivery (
  id uuid primary key,
  webhook_id uuid not null references webhook (id) on delete cascade,
  type text not null,
  facility_id text,
  modified bigint,
  body text not null,
  state text not null default 'pending',
  attempts integer not null default 0,
  last_status integer,
  last_attempt_at timestamptz(3),
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) not null,
  constraint webhook_delivery_state check (state in ('pending', 'delivered', 'failed')),
  constraint webhook_delivery_next check ((state = 'pending') = (next_attempt_at is not null))
);
create index webhook_delivery_due on webhook_delivery (webhook_id, next_attempt_at) where state = 'pending';
create index webhook_delivery_unattempted on webhook_delivery (webhook_id, facility_id) where state = 'pending' and attempts = 0;
create index webhook_delivery_newest on webhook_delivery (webhook_id, created_at desc, id desc);
create index webhook_delivery_by_age on webhook_delivery (created_at);
