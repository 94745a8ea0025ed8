// Ends the deliveries of webhooks whose owner, client or grant has lost its rights.
import { type Database, query, send, type Transaction, transaction } from '@bay-booking/service/database/database';
import { fail } from './delivery/delivery-statements.ts';

/** An entry of the list of revocations. */
export interface Revocation {
  /** The SHA-256 of what has ended, in base64url. */
  readonly id: string;
  /** Tokens that were issued before this time, in seconds since 1970, have no rights any more. */
  readonly before: number;
}

/** A table of the parameters $1 (the hashes) and $2 (`before`). */
const revoked = 'unnest($1::bytea[], $2::float8[]) as revoked (hash, before)';
const isRevoked = (text: string): string =>
  `sha256(convert_to(${text}, 'UTF8')) = hash and coalesce(token_issued_at, last_updated_at) < to_timestamp(before)`;

/** Parameter $3 is the reason. The order of the ids prevents deadlocks (delivery/delivery-store.ts). */
const pauseWhere = (text: string): string => `update webhook set state = 'paused', paused_because = $3
where id in (
  select id from webhook join ${revoked} on ${isRevoked(text)}
  where state <> 'disabled' and paused_because is distinct from $3 order by id for no key update of webhook)`;

const pauses = [
  [pauseWhere("'client ' || client_id"), 'the personal access token was revoked or has expired'],
  [pauseWhere("'grant ' || grant_id"), 'the grant was ended'],
  [pauseWhere("'account ' || owner"), 'the account was disabled'],
] as const;

const findLostFacilities = `select id as "webhookId", facility_id as "facilityId"
from webhook cross join unnest(facility_ids) as facility (facility_id)
join ${revoked} on ${isRevoked("'access ' || owner || ' ' || facility_id")}
order by id for no key update of webhook`;

// The parameters of the next statements are two arrays: the webhook and the facility of each pair.
const pairs = 'unnest($1::uuid[], $2::text[]) as lost (webhook_id, facility_id)';
const removeFacilities = `update webhook set facility_ids = array(
  select facility_id from unnest(facility_ids) with ordinality as kept (facility_id, position)
  where (id, facility_id) not in (select webhook_id, facility_id from ${pairs}) order by position)
where id in (select webhook_id from ${pairs})`;
const removeCursors = `delete from webhook_cursor cursor using ${pairs}
where cursor.webhook_id = lost.webhook_id and cursor.facility_id = lost.facility_id`;
const failDeliveries = `update webhook_delivery delivery set ${fail} from ${pairs}
where delivery.webhook_id = lost.webhook_id and delivery.facility_id = lost.facility_id and state = 'pending'`;
const deleteEmpty = "delete from webhook where id = any($1::uuid[]) and facility_ids = '{}'";

export interface WebhookFacility {
  readonly webhookId: string;
  readonly facilityId: string;
}

/**
 * Ends what follows from entries of the list of revocations, which may have been read before. An id is the hash of
 * `client {client_id}`, `grant {grant_id}` or `account {sub}`, which pause webhooks, or of `access {sub} {facility}`,
 * which removes the facility from the webhooks of the owner.
 */
export async function endWebhookRights(db: Database, entries: readonly Revocation[]): Promise<void> {
  if (entries.length === 0) return;
  const values = [entries.map(({ id }) => Buffer.from(id, 'base64url')), entries.map(({ before }) => before)];
  for (const [statement, reason] of pauses) await query(db, statement, [...values, reason]);
  await transaction(db, async (tx) => {
    takeOutFacilities(tx, await query<WebhookFacility>(tx, findLostFacilities, values));
  });
}

/** Must run after the webhooks were locked. Deletes a webhook with its last facility. */
export function takeOutFacilities(tx: Transaction, lost: readonly WebhookFacility[]): void {
  if (lost.length === 0) return;
  const values = [lost.map(({ webhookId }) => webhookId), lost.map(({ facilityId }) => facilityId)];
  // The feeder adds deliveries while it locks the cursor, so the deliveries end after their cursors.
  for (const statement of [removeFacilities, removeCursors, failDeliveries]) send(tx, statement, values);
  send(tx, deleteEmpty, [values[0]]);
}
