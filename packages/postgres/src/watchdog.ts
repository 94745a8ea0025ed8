// Stops the PostgreSQL server when this process is killed with SIGKILL. The watchdog is a shell script that reads from
// a pipe. The pipe closes when this process ends for any reason, and the script then stops the server.
import { spawn } from 'node:child_process';

export interface Watchdog {
  /** Ends the watchdog and waits for its exit, so that no zombie process remains. */
  dismiss(): Promise<void>;
}

// `alive` checks the state in /proc, because `kill -0` also succeeds for a zombie. The script would otherwise wait 20 s
// for a zombie, and only then remove the folders.
const SCRIPT = `
  pid=$1; shift
  alive() {
    kill -0 "$pid" 2>/dev/null || return 1
    if [ -r "/proc/$pid/stat" ]; then
      case $(cat "/proc/$pid/stat") in *") Z "*|*") X "*) return 1 ;; esac
    fi
  }
  while read -r _; do :; done
  kill -INT "$pid" 2>/dev/null
  tries=0
  while alive && [ $tries -lt 200 ]; do tries=$((tries + 1)); sleep 0.1; done
  [ $# -eq 0 ] || rm -rf -- "$@"
`;

/** `pid` is the process id of the server. `remove` are the folders that are removed after the server has ended. */
export function watchOver(pid: number, remove: string[]): Watchdog {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'bay-booking-watchdog', String(pid), ...remove], {
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.stdin.on('error', () => {});
  child.unref();
  (child.stdin as unknown as { unref?: () => void }).unref?.();
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    dismiss: async () => {
      child.ref();
      child.kill('SIGKILL');
      await ended;
    },
  };
}
