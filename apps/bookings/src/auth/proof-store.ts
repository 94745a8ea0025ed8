// Stores used DPoP proofs, so that all instances together accept each proof only once (RFC 9449 section 11.1).
//
// While one statement runs, further proofs wait. The next statement stores all of them. The commit does not wait until
// the proofs are on disk. Other instances see the proofs nevertheless. Proofs are lost only if the database crashes in
// the next 0.6 s (three times wal_writer_delay). A lost proof could be used a second time.
import { hash } from 'node:crypto';
import { type Database, query } from '@bay-booking/service/database/database';

/** Stores the use of a proof. Returns false if a proof with this key and `jti` was used before. */
export type UseProof = (thumbprint: string, jti: string) => Promise<boolean>;

/**
 * How long a proof is stored. A proof can be used for 120 s: from 60 s before until 60 s after its `iat`.
 * The longer time covers differences between the clocks of the instances.
 */
const lifetimeSeconds = 300;

interface WaitingProof {
  readonly id: string;
  readonly resolve: (isFirstUse: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export function createProofStore(db: Database) {
  let waiting: WaitingProof[] = [];
  let isStoring = false;

  /** Stores the ids. Returns those that were not stored before. */
  const store = async (ids: readonly string[]): Promise<Set<string>> => {
    // `set_config` affects only the transaction of this statement: its commit does not wait for the disk.
    const rows = await query<{ id: string }>(
      db,
      `insert into dpop_proof (id, expires_at)
       select id, now() + make_interval(secs => $2)
         from string_to_table($1, ',') as proof (id), set_config('synchronous_commit', 'off', true)
       on conflict do nothing returning id`,
      // The ids are sorted, because two instances that insert the same ids in different orders could block each other.
      // The parameter is one text and not an array, because pg takes 10 µs to escape each element of an array.
      [ids.toSorted().join(','), lifetimeSeconds],
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
        // `proofs` can contain the same proof several times. Only the first of these is its first use.
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
      // Not awaited: `storeWaiting` never rejects, and passes each error to `reject`.
      if (!isStoring) void storeWaiting();
    });

  return {
    use,
    deleteExpired: () => query(db, 'delete from dpop_proof where expires_at < now()', []),
  };
}
