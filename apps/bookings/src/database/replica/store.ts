// How far has the primary written, and has the replica replayed that much of the same history? All SQL of reading from a replica.
// docs/decisions/0007.
import { setTimeout as pause } from 'node:timers/promises';
import { type Database, query, queryAll, takeConnection } from '@bay-booking/service/database/database';

/** A place in the history of one cluster: whatever was acknowledged before it was asked for lies before it. */
export interface Position {
  readonly system: string;
  readonly timeline: string;
  readonly lsn: string;
}

/** A read-only transaction on the replica, which sees all that was written up to a position. */
export interface Session {
  readonly db: Database;
  readonly close: () => void;
}

/** Why the replica cannot answer: it is late, or no replica of this primary. */
export class UnusableReplicaError extends Error {
  override readonly name = 'UnusableReplicaError';
  readonly reason: 'behind' | 'foreign';

  constructor(reason: UnusableReplicaError['reason']) {
    super(`the replica is ${reason}`);
    this.reason = reason;
  }
}

export type ReplicaStore = ReturnType<typeof createReplicaStore>;

interface Progress {
  readonly ours: boolean;
  readonly behind: number;
}

// A commit is acknowledged only when its WAL has been flushed. The name of a WAL file begins with the timeline, in 8 digits, which are
// bound so that the statement is prepared: with that, and no join, it costs the primary a third.
const position = `select (select system_identifier from pg_control_system())::text as system,
  substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, $1::int) as timeline, pg_current_wal_flush_lsn()::text as lsn`;

// After a failover a replica may have replayed what the new primary never had: its position counts on the same timeline alone.
const progressTowards = ({ system, timeline, lsn }: Position): string => `select
  pg_is_in_recovery() and (select system_identifier from pg_control_system()) = ${BigInt(system)}
    and (select timeline_id from pg_control_checkpoint()) = ${Number.parseInt(timeline, 16)} as ours,
  pg_wal_lsn_diff('${lsn.replace(/[^0-9A-F/]/g, '')}', pg_last_wal_replay_lsn())::float8 as behind`;

export function createReplicaStore({ primary, replica }: { readonly primary: Database; readonly replica: Database }) {
  return {
    position: async (): Promise<Position> => (await query<Position>(primary, position, [8]))[0] as Position,

    /** @throws {UnusableReplicaError} when it is not there at `deadline`, by the monotonic clock */
    open: async (wanted: Position, deadline: number): Promise<Session> => {
      const { db, release } = await takeConnection(replica);
      const close = (): void => void query(db, 'commit').then(release, release);
      try {
        // One transaction, since a pooler may send what follows a commit to another server; one message, to save a round trip.
        const ask = progressTowards(wanted);
        let [found] = await queryAll<Progress>(db, ['begin read only', ask]);
        for (let step = 1; ; step *= 2) {
          if (!found?.ours) throw new UnusableReplicaError('foreign');
          if (found.behind <= 0) return { db, close };
          const left = deadline - performance.now();
          if (left <= 0) throw new UnusableReplicaError('behind');
          await pause(Math.min(step, left));
          [found] = await query<Progress>(db, ask);
        }
      } catch (error) {
        close();
        throw error;
      }
    },

    /** Bytes of WAL that the replica has yet to replay. */
    lag: async (to: Position): Promise<number> => {
      const [found] = await query<Progress>(replica, progressTowards(to));
      if (!found?.ours) throw new UnusableReplicaError('foreign');
      return Math.max(0, found.behind);
    },
  };
}
