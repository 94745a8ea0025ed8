// Compares the positions of the primary and the replica in the write-ahead log, and opens sessions on the replica
// (docs/decisions/0007-lists-from-a-replica.md).
import { setTimeout as pause } from 'node:timers/promises';
import { type Database, query } from '@bay-booking/service/database/database';
import { beginReadOnly, type ReadOnlyTransaction } from '@bay-booking/service/database/transaction';

/**
 * A position in the write-ahead log (WAL) of the primary. The log before this position contains every commit that the
 * primary had acknowledged when the position was read.
 */
export interface Position {
  /** The identifier of the PostgreSQL cluster. */
  readonly system: string;
  /** 8 hexadecimal digits. Each failover starts a new timeline. */
  readonly timeline: string;
  /** The log sequence number. */
  readonly lsn: string;
}

/** A read-only transaction on the replica that sees every change up to the requested position of the primary. */
export type Session = Pick<ReadOnlyTransaction, 'db' | 'close'>;

/**
 * `behind`: the replica has not replayed up to the requested position of the primary. `foreign`: the replica does not
 * follow this primary, or has made no checkpoint since the last failover.
 */
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
  readonly followsPrimary: boolean;
  /** How many bytes of WAL the replica must still replay to reach the requested position. 0 or less if none. */
  readonly bytesBehind: number;
}

// PostgreSQL acknowledges a commit only after its WAL is flushed, so the flush position covers every acknowledged
// commit. The setting `synchronous_commit = off` would break this, and is not supported. The name of a WAL file begins
// with the 8 digits of the timeline.
//
// This statement takes only a third of the time if it is prepared and has no join. Only statements with bind values are
// prepared, so the number 8 is a bind value. The system identifier is read in a subselect instead of a join.
const positionSql = `select (select system_identifier from pg_control_system())::text as system,
  substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, $1::int) as timeline, pg_current_wal_flush_lsn()::text as lsn`;

// Positions of different timelines cannot be compared: after a failover, a replica of the old primary may have replayed
// WAL that the new primary never had. A replica reports the timeline of its last checkpoint. After a failover, a
// replica of the new primary is therefore not used before its next checkpoint.
const progressSql = `select
  pg_is_in_recovery() and (select system_identifier from pg_control_system()) = $1::bigint
    and (select timeline_id from pg_control_checkpoint()) = $2::int as "followsPrimary",
  pg_wal_lsn_diff($3::pg_lsn, pg_last_wal_replay_lsn())::float8 as "bytesBehind"`;

const progressTowards = ({ system, timeline, lsn }: Position): [sql: string, values: unknown[]] => [
  progressSql,
  [system, Number.parseInt(timeline, 16), lsn],
];

export function createReplicaStore({ primary, replica }: { readonly primary: Database; readonly replica: Database }) {
  return {
    /** Returns the position up to which the primary has flushed its WAL. */
    position: async (): Promise<Position> => (await query<Position>(primary, positionSql, [8]))[0] as Position,

    /**
     * Waits until the replica has replayed up to `position`, and returns a session on it. `deadline` is a time of
     * `performance.now()`.
     * @throws {UnusableReplicaError} if the replica is still behind at the deadline, or does not follow the primary
     */
    open: async (position: Position, deadline: number): Promise<Session> => {
      // The check of the position runs in the same transaction as the later queries of the session, because a pooler
      // may send the next transaction to another replica. With the isolation level READ COMMITTED, which is the
      // default, each statement sees everything that was replayed before the statement began. The check can therefore
      // be repeated, and the later queries see every change up to the position.
      const { run, db, close } = await beginReadOnly(replica);
      try {
        for (let pauseMs = 1; ; pauseMs *= 2) {
          // `run` returns a list of rows for each statement.
          const [[progress]] = await run<[Progress[]]>(progressTowards(position));
          if (!progress?.followsPrimary) throw new UnusableReplicaError('foreign');
          if (progress.bytesBehind <= 0) return { db, close };
          const remaining = deadline - performance.now();
          if (remaining <= 0) throw new UnusableReplicaError('behind');
          await pause(Math.min(pauseMs, remaining));
        }
      } catch (error) {
        close();
        throw error;
      }
    },

    /**
     * Returns how many bytes of WAL before `position` the replica has not replayed yet.
     * @throws {UnusableReplicaError} if the replica does not follow the primary
     */
    lag: async (position: Position): Promise<number> => {
      const [progress] = await query<Progress>(replica, ...progressTowards(position));
      if (!progress?.followsPrimary) throw new UnusableReplicaError('foreign');
      return Math.max(0, progress.bytesBehind);
    },
  };
}
