// What is a row of oidc_artifact? An id is a bearer secret, so its SHA-256 is the key and the
// id itself is stored nowhere (docs/decisions/0005).
import type { AdapterPayload } from 'oidc-provider';

/** Models whose id no bearer ever holds; their payload keeps it. */
const namedModels = new Set(['Grant', 'ReplayDetection']);

export function withoutSecrets(model: string, { jti, ...payload }: AdapterPayload): AdapterPayload {
  if (namedModels.has(model)) return { ...payload, jti };
  // An interaction notes the id of its session, which is the session's cookie; nobody reads it.
  const { session } = payload as { session?: Record<string, unknown> };
  return session ? { ...payload, session: { ...session, cookie: undefined } } : payload;
}

export interface ArtifactRow {
  readonly id: string;
  readonly payload: AdapterPayload;
  readonly consumed: number | null;
  readonly answered: number;
}

/** A refresh token is answered with its successor, so its use was answered when that was made; a code's only if it brought one. */
export const answeredAt = `case when a.consumed_at is not null then extract(epoch from coalesce(
    (select min(successor.created_at) from oidc_artifact successor
      where successor.grant_id = a.grant_id and successor.model = 'RefreshToken' and successor.created_at >= a.consumed_at),
    case when a.model = 'RefreshToken' then least(now(), a.consumed_at + interval '5 seconds') else a.consumed_at end))::float8 end`;

/**
 * As the library's models are made of it. What the database answers is alive by its clock, which all instances share: one whose own clock is a
 * minute ahead would find every code of the others expired. `isRace` hides a use that ran beside this request, which goes on to lose in `consume`.
 */
export const payloadOf = (
  row: ArtifactRow,
  isRace: (hash: string, answered: number) => boolean,
  id?: string,
): AdapterPayload => ({
  ...row.payload,
  ...(row.payload.exp !== undefined && { exp: Math.max(row.payload.exp, Math.floor(Date.now() / 1000) + 1) }),
  ...(id !== undefined && { jti: id }),
  ...(row.consumed !== null && !isRace(row.id, row.answered) && { consumed: Math.floor(row.consumed) }),
});
