// Stores the sessions of browsers.
//
// Concurrent use: two requests of one browser often run at the same time, for example from two tabs. oidc-provider
// writes the whole session for each request, so one request could undo the changes of the other request. The adapter in
// this file therefore writes only the fields that a request changed. If a session ends while a request uses it, the
// request does not write the session, because the user would then be signed in again.
import { type Database, jsonText, query } from '@bay-booking/service/database/database';
import { type Adapter, type AdapterPayload, Provider } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';
import { currentRequestState, type FoundSession } from '../request-state.ts';
import { orUnavailable } from '../unavailable.ts';
import { valuesOf, withoutSecrets } from './artifact-row.ts';
import { upsertStatement } from './artifacts.ts';
import type { EndSession } from './ended-sessions.ts';
import { sessionChanges } from './session-changes.ts';

// oidc-provider gives a session a new id at every sign-in, but the uid of the session does not change. If a browser
// sends two sign-ins at the same time, both succeed, and the later one replaces the id of the session.
const insertStatement = upsertStatement('(model, uid) where uid is not null');

// Updates the session with the uid $8. Removes the fields $4 from its payload and sets the fields $5. Does the same
// with the authorizations of the clients ($6 and $7). Updates no row if the session no longer has the account $9, which
// it had at the beginning of the request. The session must also still have the id $1, unless the request gives the
// session a new id (then $1 is the new id, and $10 is true).
const mergeStatement = `
  update oidc_artifact
     set id = $1, account_id = $2, expires_at = now() + make_interval(secs => $3),
         payload = (payload - $4::text[]) || $5::jsonb || jsonb_build_object('authorizations',
           (coalesce(payload->'authorizations', '{}') - $6::text[]) || $7::jsonb)
   where model = 'Session' and uid = $8 and account_id is not distinct from $9 and (id = $1 or $10)
  returning 1 as done`;

export interface SessionOptions {
  readonly db: Database;
  /** Stores a session like any other artifact: replaces the whole session, and not only the changed fields. */
  readonly adapter: Adapter;
  readonly endSession: EndSession;
}

export function createSessionAdapter({ db, adapter, endSession }: SessionOptions): Adapter {
  const run = (sql: string, values: readonly unknown[]) => orUnavailable(() => query(db, sql, values));

  /**
   * Writes the changes that a request made to the session. Returns false if the session has ended, or if another
   * request has given the session a new id or signed in another user.
   */
  const merge = async (found: FoundSession, id: string, payload: AdapterPayload, expiresIn: number | undefined) => {
    const { fields, authorizations } = sessionChanges(found.payload, payload);
    const rows = await run(mergeStatement, [
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
      const payload = await adapter.find(id);
      const state = currentRequestState();
      // The request state gets a copy of the payload, because oidc-provider changes the payload during the request.
      if (payload && state && state.session?.id !== id) state.session = { id, payload: structuredClone(payload) };
      return payload;
    },
    async upsert(id, payload, expiresIn) {
      const found = currentRequestState()?.session;
      if (found) {
        if (await merge(found, id, payload, expiresIn)) return;
        // The session has ended or changed. A request may create a new session only if it has just signed the user in,
        // which changes `loginTs`.
        if (payload.loginTs === found.payload.loginTs) return;
      }
      await run(insertStatement, valuesOf('Session', id, payload, expiresIn));
    },
    async destroy(id) {
      // When the user signs out, oidc-provider deletes the session under its current id. To give a session a new id,
      // the library deletes the session with the old id and stores the session with the new id. When a session gets a
      // new id, the row must stay, because `merge` (above) then changes the id of the row.
      const sessionId = Provider.ctx?.oidc?.session?.jti;
      if (sessionId === id) return endSession(id);
      const getsNewId = sessionId !== undefined && currentRequestState()?.session?.id === id;
      if (!getsNewId) await adapter.destroy(id);
    },
  };
}
