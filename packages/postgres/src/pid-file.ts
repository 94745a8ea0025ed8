// Locks a resource with a file. The file contains the process id of the owner and the time when that process started. A
// process that finds the file checks whether its owner still runs. The lock is therefore free after its owner was
// killed with kill -9. The file is written under another name and then linked to its final name, so that no process
// reads a partial file.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { processIdentity, processState } from './processes.ts';

export class HeldByAnotherProcess extends Error {
  readonly pid: number;

  constructor(path: string, pid: number) {
    super(`${path} is locked by the running process ${pid}`);
    this.pid = pid;
  }
}

export interface PidFile {
  /** Whether the last owner ended without releasing the lock. Processes that this owner has started may still run. */
  isAfterCrash: boolean;
  release(): void;
}

/** @throws {HeldByAnotherProcess} if another running process has locked the file */
export function claimPidFile(path: string): PidFile {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${process.pid}\n${processIdentity(process.pid) ?? ''}\n`, { mode: 0o644 });
  let isAfterCrash = false;
  try {
    for (let attempt = 0; attempt < 20; attempt++) {
      try {
        linkSync(draft, path);
        return { isAfterCrash, release: () => rmSync(path, { force: true }) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const owner = readPidFile(path);
      if (owner?.isRunning) throw new HeldByAnotherProcess(path, owner.pid);
      isAfterCrash = true;
      removeStale(path);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new Error(`${path} could not be locked, because several processes tried at the same time`);
}

// Removes the file of an owner that no longer runs. Two processes may do this at the same time, and the first may
// already have replaced the file by its own file. Each process therefore moves the file away and checks the owner
// again. If this owner is running, the file is moved back.
function removeStale(path: string): void {
  const movedPath = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, movedPath);
  } catch {
    return;
  }
  if (readPidFile(movedPath)?.isRunning) linkBack(movedPath, path);
  rmSync(movedPath, { force: true });
}

function linkBack(movedPath: string, path: string): void {
  try {
    linkSync(movedPath, path);
  } catch (error) {
    // A third process has locked the resource since the file was moved away. The caller finds this owner next.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Returns the owner of the lock, or undefined if the file is missing or malformed. */
function readPidFile(path: string): { pid: number; isRunning: boolean } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const [first = '', identity = ''] = text.split('\n');
  const pid = Number.parseInt(first, 10);
  if (!(pid > 0)) return undefined;
  return { pid, isRunning: processState(pid) === 'running' && (processIdentity(pid) ?? '') === identity };
}
