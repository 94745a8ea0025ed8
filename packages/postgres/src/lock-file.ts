// Locks a resource for one process with a lock file. The file contains the process id of the owner, and a text that
// distinguishes the owner from other processes with the same id. A process that finds the file checks whether the owner
// still runs. The lock is therefore free after its owner was killed with kill -9.
//
// The file is written under another name and then linked to its final name, so that no process reads a partial file.
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { processIdentity, processState } from './processes.ts';

/**
 * A lock file can remain from an owner that no longer runs. While another process removes such a file, this process
 * waits for two seconds at most.
 */
const maxAttempts = 100;
const pauseBetweenAttemptsMs = 20;

export class LockedByAnotherProcess extends Error {
  readonly pid: number;

  constructor(path: string, pid: number) {
    super(`${path} is locked by the running process ${pid}`);
    this.pid = pid;
  }
}

export interface Lock {
  /** Whether the last owner ended without releasing the lock. Processes that this owner has started may still run. */
  isAfterCrash: boolean;
  /** Removes the lock file, if this process still is its owner. */
  release(): void;
}

/**
 * Locks the resource to which the lock file `path` belongs.
 * @throws {LockedByAnotherProcess} if another running process has the lock
 */
export function acquireLock(path: string): Lock {
  const draft = `${path}.${process.pid}`;
  // `processIdentity` returns undefined if it cannot find out when the process started. Then only the process ids are
  // compared.
  writeFileSync(draft, `${process.pid}\n${processIdentity(process.pid) ?? ''}\n`, { mode: 0o644 });
  let isAfterCrash = false;
  try {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (tryLink(draft, path)) return { isAfterCrash, release: () => release(path) };
      const owner = readLockFile(path);
      if (owner?.isRunning) throw new LockedByAnotherProcess(path, owner.pid);
      // If the file no longer exists, its owner has just released the lock.
      if (!owner) continue;
      isAfterCrash = true;
      if (!removeStale(path, draft)) pause(pauseBetweenAttemptsMs);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new Error(`${path} could not be locked, because several processes tried at the same time`);
}

function release(path: string): void {
  if (readLockFile(path)?.pid === process.pid) rmSync(path, { force: true });
}

/**
 * Removes the lock file if its owner no longer runs. Returns false if another process is removing it.
 *
 * Only one process at a time may check and remove the lock file. Otherwise a process could check the file of the old
 * owner, and then remove the file of a new owner. Only the process that has created the link `PATH.removal` may remove
 * the lock file. `draft` is the file that identifies this process, so the link identifies it too.
 */
function removeStale(path: string, draft: string): boolean {
  const removalPath = `${path}.removal`;
  if (!tryLink(draft, removalPath)) {
    // The process that has created this link may have been killed before it could remove the lock file and the link.
    if (readLockFile(removalPath)?.isRunning === false) rmSync(removalPath, { force: true });
    return false;
  }
  try {
    if (readLockFile(path)?.isRunning === false) rmSync(path, { force: true });
  } finally {
    rmSync(removalPath, { force: true });
  }
  return true;
}

/** Returns false if `path` exists. */
function tryLink(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Blocks the thread, because the functions of this file are synchronous. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/**
 * Returns the process that owns the lock, or undefined if there is no lock file. A malformed lock file, for example
 * after a power failure, is treated like the file of a process that no longer runs.
 */
function readLockFile(path: string): { pid: number; isRunning: boolean } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const [first = '', identity = ''] = text.split('\n');
  const pid = Number.parseInt(first, 10);
  const isRunning = pid > 0 && processState(pid) === 'running' && (processIdentity(pid) ?? '') === identity;
  return { pid, isRunning };
}
