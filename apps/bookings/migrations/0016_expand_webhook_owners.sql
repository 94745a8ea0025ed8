-- Webhooks belong to the owner of a token and end with its rights (docs/behaviour.md, "Webhooks").
alter table webhook
  -- Null: an earlier release created the webhook, and its client has sent no request since then.
  add column owner text,
  -- The grant and the `iat` of the token with which the webhook was created or last changed, as far as they are known.
  add column grant_id text,
  add column token_issued_at timestamptz(0),
  add column paused_because text,
  add column last_success_at timestamptz(3),
  -- The events that replays have sent since replay_since.
  add column replay_since timestamptz(3),
  add column replayed_events integer not null default 0;
create index webhook_by_owner on webhook (owner, created_at, id);
create index webhook_by_facility on webhook using gin (facility_ids);

-- Only earlier releases renew seen_at. They do not deliver events without it.
alter table webhook_cursor alter column seen_at set default now();
-- The lease of earlier releases had ended, so the client may have lost its access to a facility.
update webhook set state = 'paused', paused_because = 'the client has sent no request for 7 days'
where state = 'active' and exists (
  select from webhook_cursor where webhook_id = webhook.id and seen_at < now() - interval '7 days'
);

-- The body is stored only while a delivery is pending.
alter table webhook_delivery add column last_error text, alter column body drop not null;
update webhook_delivery set body = null where state <> 'pending';
