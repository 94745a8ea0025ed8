// Locks a resource with a file. The lock is free again when its owner is killed with kill -9. The file contains the
// process id of the owner and the time when that process started. A process that finds the file checks whether this
// owner still runs. The file is written under another name and then linked to its final name, so that no process reads
// a partial file.
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
  /** True if the last owner ended without releasing the lock. Processes that it started may still be ending. */
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
      if (owner?.alive) throw new HeldByAnotherProcess(path, owner.pid);
      isAfterCrash = true;
      removeStale(path);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new Error(`${path} could not be locked, because several processes tried at the same time`);
}

// Removes the file of an owner that no longer runs. Two processes may do this at the same time, and the first may
// already have written its own file. Each process therefore moves the file away and checks its owner again. If the
// owner is running, the file is moved back.
function removeStale(path: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const moved = readPidFile(aside);
  if (moved?.alive) linkBack(aside, path);
  rmSync(aside, { force: true });
}

function linkBack(aside: string, path: string): void {
  try {
    linkSync(aside, path);
  } catch (error) {
    // A third process has locked the resource since the file was moved away. The caller finds this owner next.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function readPidFile(path: string): { pid: number; alive: boolean } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const [first = '', identity = ''] = text.split('\n');
  const pid = Number.parseInt(first, 10);
  if (!(pid > 0)) return undefined;
  return { pid, alive: processState(pid) === 'running' && (processIdentity(pid) ?? '') === identity };
}
