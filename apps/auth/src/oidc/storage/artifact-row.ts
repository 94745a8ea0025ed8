// Converts the payloads of oidc-provider's models to rows of the table oidc_artifact, and rows back to payloads. The id
// of most artifacts is a bearer secret, so the table stores only its SHA-256 (docs/decisions/0005).
import { jsonText } from '@bay-booking/service/database/database';
import type { AdapterPayload } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';

/** The id of these models is never handed to a client, so their payload keeps it. */
const modelsWithPublicId = new Set(['Grant', 'ReplayDetection']);

/** The columns that `valuesOf` fills, with their placeholders. */
export const columns = 'model, id, payload, grant_id, account_id, client_id, uid, user_code, expires_at';
export const placeholders = '$1, $2, $3::jsonb, $4, $5, $6, $7, $8, now() + make_interval(secs => $9)';

/** `expiresIn` is in seconds. */
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

export function withoutSecrets(model: string, { jti, ...payload }: AdapterPayload): AdapterPayload {
  if (modelsWithPublicId.has(model)) return { ...payload, jti };
  // An interaction contains the id of its session, which is the value of the session cookie. Nothing reads it.
  const { session } = payload as { session?: Record<string, unknown> };
  return session ? { ...payload, session: { ...session, cookie: undefined } } : payload;
}

/**
 * `id` is undefined where the caller does not know it. `consumedAt` is in seconds since the epoch, or undefined for an
 * artifact that the library is to treat as unused.
 *
 * The query returned this row, so it has not expired by the clock of the database. The library compares `exp` with the
 * clock of this host, which may be wrong: a host that is a minute fast would refuse every code that another instance
 * issued. Hence `exp` is moved into this host's future.
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
