// Remembers the DPoP proofs that were used, so that each is accepted once over all instances (RFC 9449 section 11.1).
import { hash } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';

/** Returns false if the proof with this key and `jti` was used before. */
export type UseProof = (thumbprint: string, jti: string) => Promise<boolean>;

/** Seconds that a proof is remembered. A proof is valid for 60 s before and after its `iat`. */
const lifetime = 300;

export function createProofStore(db: Database) {
  const use: UseProof = async (thumbprint, jti) => {
    const rows = await query(
      db,
      `insert into dpop_proof (id, expires_at) values ($1, now() + make_interval(secs => $2))
       on conflict do nothing returning 1 as done`,
      [hash('sha256', JSON.stringify([thumbprint, jti]), 'base64url'), lifetime],
    );
    return rows.length > 0;
  };
  return {
    use,
    deleteExpired: () => query(db, 'delete from dpop_proof where expires_at < now()', []),
  };
}
