// A lock that a kill -9 cannot leave behind: a file with the owner's process id and start. Whoever finds it asks whether that
// very process still lives. Written beside the file first and linked into place, so that nobody reads half of one.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { processIdentity, processState } from './processes.ts';

export class HeldByAnotherProcess extends Error {
  readonly pid: number;

  constructor(path: string, pid: number) {
    super(`${path} is held by the running process ${pid}`);
    this.pid = pid;
  }
}

export interface PidFile {
  /** True when the last owner ended without releasing: what it started may still be on its way out. */
  afterCrash: boolean;
  release(): void;
}

export function claimPidFile(path: string): PidFile {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${process.pid}\n${processIdentity(process.pid) ?? ''}\n`, { mode: 0o644 });
  let afterCrash = false;
  try {
    for (let attempt = 0; attempt < 20; attempt++) {
      try {
        linkSync(draft, path);
        return { afterCrash, release: () => rmSync(path, { force: true }) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const owner = readPidFile(path);
      if (owner?.alive) throw new HeldByAnotherProcess(path, owner.pid);
      afterCrash = true;
      removeStale(path);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new Error(`${path} could not be claimed: several processes try at once`);
}

// Two that find the same stale file must not remove each other's fresh one: what was moved aside is looked at again.
function removeStale(path: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const moved = readPidFile(aside);
  if (moved?.alive) linkSync(aside, path);
  rmSync(aside, { force: true });
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
