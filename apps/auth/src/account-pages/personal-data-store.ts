// Reads what is stored about an account, for the page where its user downloads these data.
import { type Database, query, queryOne } from '@bay-booking/service/database/database';

/** Each list has only the newest entries, up to this number. */
const maxEntries = 10_000;

/** The columns are the names in the export. $1 is the id of the account. */
const sections = {
  memberships: `select m.facility_id as "facilityId", f.name as facility, m.role, m.created_at as since
      from membership m join facility f on f.id = m.facility_id where m.account_id = $1 order by m.created_at desc`,
  socialIdentities: `select provider, subject, email, created_at as "createdAt", last_used_at as "lastUsedAt"
      from social_identity where account_id = $1 order by created_at desc`,
  passkeys: `select name, created_at as "createdAt", last_used_at as "lastUsedAt"
      from passkey where account_id = $1 order by created_at desc`,
  authenticatorApps: `select created_at as "createdAt", last_used_at as "lastUsedAt"
      from authenticator_app where account_id = $1`,
  applications: `select client_id as "clientId", scopes, created_at as "createdAt", updated_at as "updatedAt"
      from consent where account_id = $1 order by created_at desc`,
  sessions: `select user_agent as "userAgent", address, signed_in_at as "signedInAt", seen_at as "seenAt"
      from browser_session where account_id = $1 order by signed_in_at desc`,
  personalAccessTokens: `select id as "clientId", name, access, facility_ids as facilities, created_at as "createdAt",
           expires_at as "expiresAt", disabled_at as "revokedAt", last_used_at as "lastUsedAt",
           last_used_from as "lastUsedFrom"
      from client where account_id = $1 order by created_at desc`,
  invitations: `select i.facility_id as "facilityId", i.role, i.sent_at as "sentAt", i.accepted_at as "acceptedAt"
      from invitation i where i.accepted_by = $1 order by i.sent_at desc`,
  events: `select at, kind, client_id as "clientId", facility_id as "facilityId", address
      from audit_event where account_id = $1 order by at desc`,
};

export async function readPersonalData(db: Database, id: string) {
  const account = await queryOne(
    db,
    `select id, username, name, email, email_verified as "emailVerified", kind, roles, created_at as "createdAt",
            updated_at as "updatedAt", password_hash is not null as "hasPassword"
       from account where id = $1`,
    [id],
  );
  const lists = await Promise.all(
    Object.entries(sections).map(async ([name, sql]) => [name, await query(db, `${sql} limit ${maxEntries}`, [id])]),
  );
  return { account, ...Object.fromEntries(lists) };
}
