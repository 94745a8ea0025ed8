// Stores used DPoP proofs, so that all instances together accept each proof only once (RFC 9449 section 11.1).
import { hash } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';

/** Returns false if a proof with this key and `jti` was used before. */
export type UseProof = (jkt: string, jti: string) => Promise<boolean>;

/** A proof can be used for 120 s. The longer time covers clock differences between instances. */
const lifetimeSeconds = 300;

// A database crash loses the proofs of the last 0.6 s (three times wal_writer_delay), because the commit does not wait
// for the disk.
const insert = `insert into dpop_proof (id, expires_at)
select $1, now() + make_interval(secs => $2) from set_config('synchronous_commit', 'off', true)
on conflict do nothing returning id`;

/** The maximum number of proofs that one statement deletes. */
const batchSize = 5_000;
const deleteExpired = `delete from dpop_proof where id = any(array(
  select id from dpop_proof where expires_at < now() limit $1)) returning id`;

export function createProofStore(db: Database) {
  const use: UseProof = async (jkt, jti) => {
    const id = hash('sha256', jkt + jti, 'base64url');
    return (await query(db, insert, [id, lifetimeSeconds])).length > 0;
  };
  return {
    use,
    /** Deletes a batch. Returns whether there may be more. */
    deleteExpired: async (): Promise<boolean> => (await query(db, deleteExpired, [batchSize])).length === batchSize,
  };
}
