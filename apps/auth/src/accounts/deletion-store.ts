// Deletes an account with everything that names the person, also in the audit trail, the outbox and invitations.
import { type Database, type Queryable, query, queryOne, transaction } from '@bay-booking/service/database/database';
import { type AuditEvent, storeEvents } from '../audit/store.ts';
import { findSolelyOwned, lockMembers, type OwnedFacility } from '../facilities/membership-store.ts';
import { canonicalName } from '../input/username.ts';
import { endEverything } from './end-access-store.ts';
import type { Account } from './store.ts';

/** `facilities` would be left without an owner. */
export type Deletion = 'deleted' | 'not-found' | { readonly facilities: readonly OwnedFacility[] };

/** Queues the e-mails about the deletion. `left` has an event for each facility of the account. */
type MailDeletion = (tx: Queryable, left: readonly LeavingEvent[]) => Promise<void>;

type LeavingEvent = AuditEvent & { readonly kind: 'membership.left'; readonly facilityId: string };

type Person = Pick<Account, 'username' | 'email' | 'emailVerified'>;

/** Triggers revoke the access tokens (apps/auth/migrations). */
export const deleteAccount = (db: Database, id: string, mail?: MailDeletion): Promise<Deletion> =>
  transaction(db, (tx) => deleteAccountWithin(tx, id, mail));

export async function deleteAccountWithin(tx: Queryable, id: string, mail?: MailDeletion): Promise<Deletion> {
  await lockMembers(tx, [id]);
  const person = await queryOne<Person>(
    tx,
    'select username, email, email_verified as "emailVerified" from account where id = $1',
    [id],
  );
  if (!person) return 'not-found';
  const facilities = await findSolelyOwned(tx, id);
  if (facilities.length > 0) return { facilities };

  const addresses = provenAddresses(person);
  await endEverything(tx, id);
  await deleteRequests(tx, id, person);
  await query(tx, "delete from outbox where kind = 'mail' and (account_id = $1 or recipient_key = any ($2))", [
    id,
    addresses,
  ]);
  await query(tx, 'delete from invitation where accepted_by = $1 or email_key = any ($2)', [id, addresses]);
  await query(
    tx,
    `update invitation set withdrawn_at = now()
        where invited_by = $1 and accepted_at is null and withdrawn_at is null`,
    [id],
  );
  const memberships = await query<{ facilityId: string; role: string }>(
    tx,
    'select facility_id as "facilityId", role from membership where account_id = $1',
    [id],
  );
  const event = { kind: 'membership.left', accountId: id } as const;
  const left = memberships.map(({ facilityId, role }) => ({ ...event, facilityId, detail: { role } }));
  await storeEvents(tx, left);
  await mail?.(tx, left);
  // The trigger `account_forgotten` then erases the person in the audit trail.
  await query(tx, 'insert into deleted_account (id) values ($1)', [id]);
  await query(tx, 'delete from account where id = $1', [id]);
  return 'deleted';
}

/** Deletes the authorization requests of the person that have not ended yet. */
async function deleteRequests(tx: Queryable, id: string, { username, email }: Person): Promise<void> {
  const names = [username, email ?? username].map(canonicalName);
  const hints = await query<{ hint: string }>(
    tx,
    `select distinct payload #>> '{params,login_hint}' as hint from oidc_artifact
      where model in ('Interaction', 'DeviceCode') and payload #>> '{params,login_hint}' is not null`,
  );
  const own = hints.map(({ hint }) => hint).filter((hint) => names.includes(canonicalName(hint)));
  await query(
    tx,
    `delete from oidc_artifact where account_id = $1 or model in ('Interaction', 'DeviceCode')
        and (payload #>> '{session,accountId}' = $1 or payload #>> '{params,login_hint}' = any ($2))`,
    [id, own],
  );
}

/**
 * Only a proven e-mail address counts. Otherwise anybody could register with another person's e-mail address and delete
 * that person's invitations.
 */
const provenAddresses = ({ username, email, emailVerified }: Person): readonly string[] =>
  emailVerified || email === null ? [username, email ?? username].map(canonicalName) : [];

/** An instance stores an audit event after the request, which may be after the deletion. */
export async function eraseLateEvents(db: Database): Promise<void> {
  await query(
    db,
    `select erase_audit_events(id) from deleted_account where deleted_at > now() - interval '10 minutes'`,
  );
}
