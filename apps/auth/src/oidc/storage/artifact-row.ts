// Converts records of oidc-provider to rows of the table oidc_artifact, and back. The id of most records is a secret,
// so the table contains only its SHA-256 (docs/decisions.md).
import { jsonText } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import { type AdapterPayload, errors } from 'oidc-provider';

/** These ids give nobody access to anything, so a payload may contain them. */
const modelsWithPublicId = new Set(['Grant', 'ReplayDetection']);

export const storedId = (model: string, id: string): string => (modelsWithPublicId.has(model) ? id : hashSecret(id));

export const columns = 'model, id, payload, grant_id, account_id, client_id, uid, user_code, expires_at';
export const placeholders = '$1, $2, $3::jsonb, $4, $5, $6, $7, $8, now() + make_interval(secs => $9)';

/** `expiresIn` is in seconds. */
export const valuesOf = (model: string, id: string, payload: AdapterPayload, expiresIn: number | undefined) => [
  model,
  storedId(model, id),
  jsonText(withoutSecrets(model, payload)),
  payload.grantId ?? null,
  payload.accountId ?? null,
  payload.clientId ?? null,
  payload.uid ?? null,
  payload.userCode ?? null,
  expiresIn ?? null,
];

/** `jti` is the id. */
export function withoutSecrets(model: string, { jti, ...payload }: AdapterPayload): AdapterPayload {
  if (modelsWithPublicId.has(model)) return { ...payload, jti };
  // Nothing reads the session cookie in an interaction.
  const { session } = payload as { session?: Record<string, unknown> };
  return session ? { ...payload, session: { ...session, cookie: undefined } } : payload;
}

// The time of the first use, or null. oidc-provider revokes the grant of a used code or refresh token, because the
// second use may be that of a thief (RFC 9700 section 4.14.2). A first use less than a second ago counts as none,
// because a client may send a request twice. `consume` then rejects the second request.
export const usedAt = `extract(epoch from
  case when consumed_at <= clock_timestamp() - interval '1 second' then consumed_at end)::float8`;

/** `changed` are the rows that a statement returned which consumes a code or refresh token: none if it was used. */
export function rejectSecondUse(changed: readonly unknown[]): void {
  if (changed.length === 0) throw new errors.InvalidGrant({ detail: 'used by a concurrent request' });
}

// The clock of the database has decided that the record is valid. oidc-provider compares `exp` with the clock of this
// host, which may be wrong, so the payload gets an `exp` in the future.
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
