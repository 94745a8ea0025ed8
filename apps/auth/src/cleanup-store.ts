// Deletes expired rows of every table: artifacts, revocations, one-time links and codes, unfinished social sign-ins,
// counts of failures, used forms, old invitations, and sessions of browsers.
import { type Database, query } from '@bay-booking/service/database/database';

const conditions = [
  ['oidc_artifact', "expires_at < now() - interval '1 hour'"],
  // The last number never goes backwards.
  ['revocation', 'expires_at < now() and number < (select max(number) from revocation)'],
  ['one_time_link', "expires_at < now() - interval '1 hour'"],
  ['social_attempt', "expires_at < now() - interval '1 hour'"],
  ['confirmation_code', 'expires_at < now()'],
  ['pending_sign_in', 'expires_at < now()'],
  ['used_challenge', 'expires_at < now()'],
  ['idempotency_key', "created_at < now() - interval '1 day'"],
  // A form is valid only in its session, which ends after at most 30 days.
  ['used_form', "used_at < now() - interval '31 days'"],
  // Until then, an invitation explains why its link no longer works.
  ['invitation', "coalesce(accepted_at, withdrawn_at) < now() - interval '90 days'"],
  // The column `expire` contains milliseconds since 1970.
  ['guard_count', 'expire < extract(epoch from now()) * 1000'],
  // The session of a new row may not be stored yet.
  [
    'browser_session',
    `seen_at < now() - interval '1 day'
      and not exists (select from oidc_artifact s where s.model = 'Session' and s.uid = browser_session.uid)`,
  ],
] as const;

const batchSize = 1_000;

/** Deletes up to `batchSize` rows of each table. Resolves to true if there may be more. */
export async function deleteExpiredRows(db: Database): Promise<boolean> {
  const counts: number[] = [];
  for (const [table, condition] of conditions) {
    // `delete` has no `limit`. The subquery skips rows that another instance is deleting.
    const rows = await query(
      db,
      `delete from ${table} where ctid = any (array(
         select ctid from ${table} where ${condition} limit $1 for update skip locked)) returning 1 as done`,
      [batchSize],
    );
    counts.push(rows.length);
  }
  return counts.includes(batchSize);
}
