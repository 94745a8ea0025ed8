// Converts the payloads of oidc-provider's models to rows of the table oidc_artifact, and converts rows to payloads.
// The id of most artifacts is a secret with which anybody can use the artifact, so the table stores only the SHA-256 of
// the id (docs/decisions/0005).
import { jsonText } from '@bay-booking/service/database/database';
import type { AdapterPayload } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';

/** The ids of these models are no secrets, because no client uses them. Their payload may contain the id. */
const modelsWithPublicId = new Set(['Grant', 'ReplayDetection']);

/** The columns for the values of `valuesOf`, in the same order. */
export const columns = 'model, id, payload, grant_id, account_id, client_id, uid, user_code, expires_at';
/** The SQL expressions for these columns. */
export const placeholders = '$1, $2, $3::jsonb, $4, $5, $6, $7, $8, now() + make_interval(secs => $9)';

/** Returns the values of a row. `expiresIn` is in seconds. */
export const valuesOf = (model: string, id: string, payload: AdapterPayload, expiresIn: number | undefined) => [
  model,
  hashSecret(id),
  jsonText(withoutSecrets(model, payload)),
  payload.grantId ?? null,
  payload.accountId ?? null,
  payload.clientId ?? null,
  payload.uid ?? null,
  payload.userCode ?? null,
  expiresIn ?? null,
];

/** Removes the secrets of a payload that must not be stored. */
export function withoutSecrets(model: string, { jti, ...payload }: AdapterPayload): AdapterPayload {
  if (modelsWithPublicId.has(model)) return { ...payload, jti };
  // An interaction contains the value of the session cookie. Nothing reads this value, so it is not stored.
  const { session } = payload as { session?: Record<string, unknown> };
  return session ? { ...payload, session: { ...session, cookie: undefined } } : payload;
}

/**
 * Returns the payload of a row for the library. `id` is undefined if the caller does not know it. `consumedAt` is in
 * seconds since 1970. If it is undefined, the library treats the artifact as unused.
 *
 * A row that a query returned has not expired by the clock of the database. The library, however, compares `exp` with
 * the clock of this host, which may be wrong. If the clock were a minute ahead, this instance would reject every code
 * that another instance issued. This function therefore moves `exp` into the future of this host.
 */
export const payloadOf = (
  payload: AdapterPayload,
  id: string | undefined,
  consumedAt: number | undefined,
): AdapterPayload => ({
  ...payload,
  ...(payload.exp !== undefined && { exp: Math.max(payload.exp, Math.floor(Date.now() / 1000) + 1) }),
  ...(id !== undefined && { jti: id }),
  ...(consumedAt !== undefined && { consumed: Math.floor(consumedAt) }),
});
