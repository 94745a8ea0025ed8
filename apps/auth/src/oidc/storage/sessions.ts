// Stores sessions. Requests of one browser often run at the same time, so each writes only the fields that it changed,
// and does not store a session again that has ended. No page and no endpoint finds an idle session.
import { type Database, jsonText, type Queryable } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import { type Adapter, type AdapterPayload, Provider } from 'oidc-provider';
import { queueLogoutTokens } from '../../outbox/store.ts';
import { currentRequestState, type FoundSession } from '../request-state.ts';
import { queryOrUnavailable } from '../unavailable.ts';
import { payloadOf, upsertStatement, valuesOf, withoutSecrets } from './artifacts.ts';

/** The user of a session that was not used for this time must sign in again. */
const idleLimit = '2 hours';
/** The last use is written at most once in this interval. */
const recordInterval = '1 minute';

/** Whether the session `s` with the row `b` in `browser_session` is alive. A new session may have no row yet. */
export const isLiveSession = `s.model = 'Session' and s.expires_at > now() and (s.account_id is null
  or coalesce(b.seen_at, to_timestamp((s.payload ->> 'loginTs')::float8)) > now() - interval '${idleLimit}')`;

/** Finds a live session and records its use. */
const findStatement = `
  with found as (
    select s.uid, s.account_id, s.payload
      from oidc_artifact s left join browser_session b on b.uid = s.uid and b.account_id = s.account_id
     where s.id = $1 and ${isLiveSession}),
  used as (
    update browser_session b set seen_at = now() from found f
     where b.uid = f.uid and b.account_id = f.account_id and b.seen_at < now() - interval '${recordInterval}')
  select payload from found`;

// Two sign-ins at the same time both succeed, and the later one replaces the id.
const insertStatement = upsertStatement('(model, uid) where uid is not null');

// Updates the session with the uid $8 if it still has the account $9, and the id $1 unless it gets a new one ($10).
const mergeStatement = `
  update oidc_artifact
     set id = $1, account_id = $2, expires_at = now() + make_interval(secs => $3),
         payload = (payload - $4::text[]) || $5::jsonb || jsonb_build_object('authorizations',
           (coalesce(payload->'authorizations', '{}') - $6::text[]) || $7::jsonb)
   where model = 'Session' and uid = $8 and account_id is not distinct from $9 and (id = $1 or $10)
  returning 1 as done`;

export function createSessionAdapter(adapter: Adapter, db: Database, endSession: EndSession): Adapter {
  const merge = async (found: FoundSession, id: string, payload: AdapterPayload, expiresIn: number | undefined) => {
    const { authorizations: oldAuthorizations = {}, ...oldFields } = found.payload;
    const { authorizations: newAuthorizations = {}, ...newFields } = payload;
    const fields = changesBetween(oldFields, newFields);
    const authorizations = changesBetween(oldAuthorizations, newAuthorizations);
    const rows = await queryOrUnavailable(db, mergeStatement, [
      hashSecret(id),
      payload.accountId ?? null,
      expiresIn ?? null,
      fields.removed,
      jsonText(withoutSecrets('Session', fields.set)),
      authorizations.removed,
      jsonText(authorizations.set),
      payload.uid ?? null,
      found.payload.accountId ?? null,
      id !== found.id,
    ]);
    return rows.length > 0;
  };

  return {
    ...adapter,
    async find(id) {
      const [row] = await queryOrUnavailable<{ payload: AdapterPayload }>(db, findStatement, [hashSecret(id)]);
      const payload = row && payloadOf(row.payload, id, undefined);
      const state = currentRequestState();
      // oidc-provider changes the payload during the request.
      if (payload && state && state.session?.id !== id) state.session = { id, payload: structuredClone(payload) };
      return payload;
    },
    async upsert(id, payload, expiresIn) {
      const found = currentRequestState()?.session;
      if (found) {
        if (await merge(found, id, payload, expiresIn)) return;
        // Only a sign-in, which changes `loginTs`, may create a new session.
        if (payload.loginTs === found.payload.loginTs) return;
      }
      await queryOrUnavailable(db, insertStatement, valuesOf('Session', id, payload, expiresIn));
    },
    async destroy(id) {
      // To give a session a new id, oidc-provider deletes the old id. The row must stay, because `merge` changes its
      // id.
      const sessionId = Provider.ctx?.oidc?.session?.jti;
      if (sessionId === id) return endSession(id);
      const getsNewId = sessionId !== undefined && currentRequestState()?.session?.id === id;
      if (!getsNewId) await adapter.destroy(id);
    },
  };
}

/** Returns the fields that a request set and removed. */
function changesBetween(before: object, after: object) {
  const oldValues = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  const newFields = Object.entries(after).filter(([, value]) => value !== undefined);
  const newNames = new Set(newFields.map(([name]) => name));
  return {
    set: Object.fromEntries(newFields.filter(([name, value]) => oldValues.get(name) !== JSON.stringify(value))),
    removed: [...oldValues.keys()].filter((name) => !newNames.has(name)),
  };
}

/** Ends a session and queues logout tokens for its clients. `id` is the value of the session cookie. */
export type EndSession = (id: string) => Promise<void>;

export const createEndSession =
  ({ db, sendLogoutTokens }: { db: Queryable; sendLogoutTokens: () => void }): EndSession =>
  async (id) => {
    await queryOrUnavailable(
      db,
      `with ended as (
         delete from oidc_artifact where model = 'Session' and id = $1 returning account_id, payload)
       ${queueLogoutTokens}`,
      [hashSecret(id)],
    );
    sendLogoutTokens();
  };
