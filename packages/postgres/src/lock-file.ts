// Locks a resource for one process with a lock file. The file contains the process id of the owner and the time when
// the owner started. A process that finds the file checks whether the owner still runs. The lock is therefore free
// after its owner was killed with kill -9.
//
// The file is written under another name and then linked to its final name, so that no process reads a partial file.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { processIdentity, processState } from './processes.ts';

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
  writeFileSync(draft, `${process.pid}\n${processIdentity(process.pid) ?? ''}\n`, { mode: 0o644 });
  let isAfterCrash = false;
  try {
    for (let attempt = 0; attempt < 20; attempt++) {
      try {
        linkSync(draft, path);
        return { isAfterCrash, release: () => release(path) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const owner = readLockFile(path);
      if (owner?.isRunning) throw new LockedByAnotherProcess(path, owner.pid);
      // If the file no longer exists, its owner has just released the lock.
      if (!owner) continue;
      isAfterCrash = true;
      removeStale(path);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new Error(`${path} could not be locked, because several processes tried at the same time`);
}

function release(path: string): void {
  if (readLockFile(path)?.pid === process.pid) rmSync(path, { force: true });
}

// Removes the lock file of an owner that no longer runs. Two processes may do this at the same time, and the first may
// already have replaced the file by its own lock file. Each process therefore moves the file away and checks the owner
// again. If this owner is running, the file is moved back.
//
// One race remains. After a crash, process A gets the lock while process B still sees the file of the crashed owner. B
// moves the file of A away. Before B moves it back, process C finds no file and gets the lock too. This needs three
// processes that start within milliseconds of each other after a crash.
function removeStale(path: string): void {
  const movedPath = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, movedPath);
  } catch {
    // Another process has already moved the file away.
    return;
  }
  if (readLockFile(movedPath)?.isRunning) linkBack(movedPath, path);
  rmSync(movedPath, { force: true });
}

function linkBack(movedPath: string, path: string): void {
  try {
    linkSync(movedPath, path);
  } catch (error) {
    // The race that `removeStale` describes: a third process has the lock too. The file of this third process remains.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Returns the owner of the lock, or undefined if there is no file. A malformed file, for example after a power failure,
 * counts as the file of an owner that no longer runs.
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
