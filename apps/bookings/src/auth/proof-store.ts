// Remembers the DPoP proofs that were used, so that each is accepted once over all instances (RFC 9449 section 11.1).
//
// While one statement runs, further proofs wait, and the next statement stores them all. The statement does not wait
// until the disk has stored it: other instances see the proofs at once, and only a crash of the database within 0.6 s
// (three times wal_writer_delay) loses them.
import { hash } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';

/** Returns false if the proof with this key and `jti` was used before. */
export type UseProof = (thumbprint: string, jti: string) => Promise<boolean>;

/** Seconds that a proof is remembered. A proof is valid for 60 s before and after its `iat`. */
const lifetime = 300;

interface WaitingProof {
  readonly id: string;
  readonly resolve: (isFirstUse: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export function createProofStore(db: Database) {
  let waiting: WaitingProof[] = [];
  let isStoring = false;

  /** Returns the ids that were not stored before. */
  const store = async (ids: readonly string[]): Promise<Set<string>> => {
    const rows = await query<{ id: string }>(
      db,
      `insert into dpop_proof (id, expires_at)
       select id, now() + make_interval(secs => $2)
         from string_to_table($1, ',') as proof (id), set_config('synchronous_commit', 'off', true)
       on conflict do nothing returning id`,
      // Sorted, because two instances that insert the same ids in another order could block each other. As one text,
      // because pg takes 10 µs to escape each element of an array.
      [ids.toSorted().join(','), lifetime],
    );
    return new Set(rows.map(({ id }) => id));
  };

  const storeWaiting = async (): Promise<void> => {
    isStoring = true;
    while (waiting.length > 0) {
      const proofs = waiting;
      waiting = [];
      try {
        const added = await store(proofs.map(({ id }) => id));
        // Of several copies in one statement, the first one counts.
        for (const { id, resolve } of proofs) resolve(added.delete(id));
      } catch (error) {
        for (const { reject } of proofs) reject(error);
      }
    }
    isStoring = false;
  };

  const use: UseProof = (thumbprint, jti) =>
    new Promise((resolve, reject) => {
      const id = hash('sha256', thumbprint + jti, 'base64url');
      waiting.push({ id, resolve, reject });
      if (!isStoring) void storeWaiting();
    });

  return {
    use,
    deleteExpired: () => query(db, 'delete from dpop_proof where expires_at < now()', []),
  };
}
