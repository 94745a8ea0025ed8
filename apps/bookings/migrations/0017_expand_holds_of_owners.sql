-- Holds belong to their owner, which is `subject`, and count per owner and facility.
set local lock_timeout = '10s';

-- When the token was issued with which the hold was created. Null for holds of the previous release.
alter table booking_hold add column authorized_at timestamptz(3);
create index booking_hold_by_owner on booking_hold (facility_id, subject, expires_at);
-- Replaced by the index above. Instances of the previous release still find their holds, in a small table.
drop index booking_hold_by_client;
