// Converts the payloads of oidc-provider's models to rows of the table oidc_artifact, and rows to payloads. The id of
// most artifacts is a secret with which anybody could use the artifact, so the table contains only the SHA-256 of the
// id (docs/decisions/0005-single-use-codes-and-refresh-tokens.md).
import { jsonText } from '@bay-booking/service/database/database';
import { type AdapterPayload, errors } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';

/**
 * The ids of these models are not secret, because they give nobody access to anything. The payloads of these models may
 * therefore contain the id.
 */
const modelsWithPublicId = new Set(['Grant', 'ReplayDetection']);

/** The columns of a row, in the order of `valuesOf`. */
export const columns = 'model, id, payload, grant_id, account_id, client_id, uid, user_code, expires_at';
/** The SQL expressions for the values of `columns`. If $9 is null, `expires_at` is null, too. */
export const placeholders = '$1, $2, $3::jsonb, $4, $5, $6, $7, $8, now() + make_interval(secs => $9)';

/**
 * Returns the values for `placeholders`. `expiresIn` is in seconds. Undefined means that the artifact never expires.
 */
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

/** Removes from a payload the secrets that the database must not contain. `jti` is the id of the artifact. */
export function withoutSecrets(model: string, { jti, ...payload }: AdapterPayload): AdapterPayload {
  if (modelsWithPublicId.has(model)) return { ...payload, jti };
  // An interaction contains the value of the session cookie. Nothing reads this value, so it is not stored.
  const { session } = payload as { session?: Record<string, unknown> };
  return session ? { ...payload, session: { ...session, cookie: undefined } } : payload;
}

/**
 * The SQL expression for the time of the first use in seconds since 1970, or null. oidc-provider revokes the grant of a
 * used code or refresh token, because the second use may be that of a thief (RFC 9700 section 4.14.2). A first use less
 * than one second ago counts as none, because a client may have sent the same request twice. `consume` then rejects the
 * request.
 */
export const usedAt = `extract(epoch from
  case when consumed_at <= clock_timestamp() - interval '1 second' then consumed_at end)::float8`;

/** @throws {errors.InvalidGrant} if the statement that consumes a code or refresh token has changed no row */
export function rejectSecondUse(changed: readonly unknown[]): void {
  if (changed.length === 0) throw new errors.InvalidGrant({ detail: 'used by a concurrent request' });
}

/**
 * Returns the payload of a row for oidc-provider. `id` is undefined if the row was found by another column.
 * `consumedAt` is in seconds since 1970. If `consumedAt` is undefined, the library treats the artifact as unused.
 *
 * The caller has checked with the clock of the database that the artifact has not expired. The library, however,
 * compares `exp` with the clock of this host, which may be wrong. If the clock were a minute ahead, this instance would
 * reject every code that another instance issued. This function therefore returns an `exp` that is in the future by the
 * clock of this host.
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
