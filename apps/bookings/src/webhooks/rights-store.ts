// Ends the deliveries of webhooks whose owner, client or grant has lost its rights.
import { type Database, query, send, type Transaction, transaction } from '@bay-booking/service/database/database';
import { revocationIdInSql } from '@bay-booking/service/revocations';
import type { EndedRight } from '../auth/revocations.ts';
import { failSome } from './delivery/delivery-store.ts';

/** A table of the parameters $1 (the ids) and $2 (`before`). */
const revoked = 'unnest($1::text[], $2::float8[]) as revoked (revocation_id, before)';
const isRevoked = (rightId: string): string => `${rightId} = revocation_id and token_issued_at < to_timestamp(before)`;

/** Parameter $3 is the reason. The order of the ids prevents deadlocks (delivery/delivery-store.ts). */
const pauseWhere = (
  kind: 'client' | 'grant' | 'account',
  column: string,
) => `update webhook set state = 'paused', paused_because = $3
where id in (
  select id from webhook join ${revoked} on ${isRevoked(revocationIdInSql(kind, column))}
  where state <> 'disabled' and paused_because is distinct from $3 order by id for no key update of webhook)`;

const pauses = [
  [pauseWhere('client', 'client_id'), 'the client was revoked, has expired or lost rights'],
  [pauseWhere('grant', 'grant_id'), 'the grant was ended'],
  [pauseWhere('account', 'owner'), 'the account was disabled'],
] as const;

const findLostFacilities = `select id as "webhookId", facility_id as "facilityId"
from webhook cross join unnest(facility_ids) as facility (facility_id)
cross join lateral (values (${revocationIdInSql('access', 'owner', 'facility_id')}),
  (${revocationIdInSql('client-access', 'client_id', 'facility_id')})) as access (right_id)
join ${revoked} on ${isRevoked('right_id')}
order by id for no key update of webhook`;

// The parameters of the next statements are two arrays: the webhook and the facility of each pair.
const pairs = 'unnest($1::uuid[], $2::text[]) as lost (webhook_id, facility_id)';
const removeFacilities = `update webhook set facility_ids = array(
  select facility_id from unnest(facility_ids) with ordinality as kept (facility_id, position)
  where (id, facility_id) not in (select webhook_id, facility_id from ${pairs}) order by position)
where id in (select webhook_id from ${pairs})`;
const removeCursors = `delete from webhook_cursor cursor using ${pairs}
where cursor.webhook_id = lost.webhook_id and cursor.facility_id = lost.facility_id`;
const failDeliveries = failSome(
  `, ${pairs}`,
  'delivery.webhook_id = lost.webhook_id and delivery.facility_id = lost.facility_id',
);
const deleteEmpty = "delete from webhook where id = any($1::uuid[]) and facility_ids = '{}'";

export interface WebhookFacility {
  readonly webhookId: string;
  readonly facilityId: string;
}

/**
 * Ends what follows from entries of the list of revocations, which may have been read before: pauses webhooks,
 * and removes facilities that the owner or the client has lost.
 */
export async function endWebhookRights(db: Database, entries: readonly EndedRight[]): Promise<void> {
  if (entries.length === 0) return;
  const values = [entries.map(({ id }) => id), entries.map(({ before }) => before)];
  for (const [statement, reason] of pauses) await query(db, statement, [...values, reason]);
  await transaction(db, async (tx) => {
    removeLostFacilities(tx, await query<WebhookFacility>(tx, findLostFacilities, values));
  });
}

/** Must run after the webhooks were locked. Deletes a webhook with its last facility. */
export function removeLostFacilities(tx: Transaction, lost: readonly WebhookFacility[]): void {
  if (lost.length === 0) return;
  const values = [lost.map(({ webhookId }) => webhookId), lost.map(({ facilityId }) => facilityId)];
  // The feeder adds deliveries while it locks the cursor, so the deliveries end after their cursors.
  for (const statement of [removeFacilities, removeCursors, failDeliveries]) send(tx, statement, values);
  send(tx, deleteEmpty, [values[0]]);
}
