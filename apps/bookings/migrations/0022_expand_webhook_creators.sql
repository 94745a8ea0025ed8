-- Only the client that created a webhook may rotate its secret or change its URL (docs/behaviour.md, "Webhooks").
-- Null: an earlier release created the webhook, and client_id counts.
alter table webhook add column created_by text;
update webhook set created_by = client_id;

-- Null for a ping, and for a delivery of an earlier release that is no longer pending.
alter table webhook_delivery add column booking_id uuid;
update webhook_delivery set booking_id = (body::jsonb #>> '{data,booking,id}')::uuid where body is not null;
