// Ends the deliveries of webhooks whose owner, client or grant has lost its rights.
import { type Database, query, send, type Transaction, transaction } from '@bay-booking/service/database/database';
import {
  deleteEmpty,
  failDeliveries,
  findLostFacilities,
  pauses,
  removeCursors,
  removeFacilities,
} from './rights-statements.ts';

/** An entry of the list of revocations. */
export interface Revocation {
  /** The SHA-256 of what has ended, in base64url. */
  readonly id: string;
  /** Tokens that were issued before this time, in seconds since 1970, have no rights any more. */
  readonly before: number;
}

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
