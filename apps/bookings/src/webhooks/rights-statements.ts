// Defines the SQL that ends webhooks with the rights of their owner.
import { fail } from './delivery/delivery-statements.ts';

/** A table of the parameters $1 (the hashes) and $2 (`before`). */
const revoked = 'unnest($1::bytea[], $2::float8[]) as revoked (hash, before)';
const isRevoked = (text: string): string =>
  `sha256(convert_to(${text}, 'UTF8')) = hash and token_issued_at < to_timestamp(before)`;

/** Parameter $3 is the reason. The order of the ids prevents deadlocks (delivery/delivery-store.ts). */
const pauseWhere = (text: string): string => `update webhook set state = 'paused', paused_because = $3
where id in (
  select id from webhook join ${revoked} on ${isRevoked(text)}
  where state <> 'disabled' and paused_because is distinct from $3 order by id for no key update of webhook)`;

export const pauses = [
  [pauseWhere("'client ' || client_id"), 'the client was revoked, has expired or lost rights'],
  [pauseWhere("'grant ' || grant_id"), 'the grant was ended'],
  [pauseWhere("'account ' || owner"), 'the account was disabled'],
] as const;

export const findLostFacilities = `select id as "webhookId", facility_id as "facilityId"
from webhook cross join unnest(facility_ids) as facility (facility_id)
join ${revoked} on ${isRevoked("'access ' || owner || ' ' || facility_id")}
order by id for no key update of webhook`;

// The parameters of the next statements are two arrays: the webhook and the facility of each pair.
const pairs = 'unnest($1::uuid[], $2::text[]) as lost (webhook_id, facility_id)';
export const removeFacilities = `update webhook set facility_ids = array(
  select facility_id from unnest(facility_ids) with ordinality as kept (facility_id, position)
  where (id, facility_id) not in (select webhook_id, facility_id from ${pairs}) order by position)
where id in (select webhook_id from ${pairs})`;
export const removeCursors = `delete from webhook_cursor cursor using ${pairs}
where cursor.webhook_id = lost.webhook_id and cursor.facility_id = lost.facility_id`;
export const failDeliveries = `update webhook_delivery delivery set ${fail} from ${pairs}
where delivery.webhook_id = lost.webhook_id and delivery.facility_id = lost.facility_id and state = 'pending'`;
export const deleteEmpty = "delete from webhook where id = any($1::uuid[]) and facility_ids = '{}'";
