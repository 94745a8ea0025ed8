// Stops the PostgreSQL server even if this process is killed with SIGKILL, and cannot stop the server itself. The
// watchdog is a shell script that reads from a pipe. The pipe closes when this process ends for any reason, and the
// script then stops the server.
import { spawn } from 'node:child_process';

export interface Watchdog {
  /** Ends the watchdog and waits for its exit, so that no zombie process remains. */
  dismiss(): Promise<void>;
}

// The script reads from the pipe until the pipe closes. It then sends SIGINT (fast shutdown) to the server and waits
// for up to 20 s. `is_running` checks the state in /proc, because `kill -0` also succeeds for a zombie, for which the
// script must not wait.
const SCRIPT = `
  pid=$1; shift
  is_running() {
    kill -0 "$pid" 2>/dev/null || return 1
    if [ -r "/proc/$pid/stat" ]; then
      case $(cat "/proc/$pid/stat") in *") Z "*|*") X "*) return 1 ;; esac
    fi
  }
  while read -r _; do :; done
  kill -INT "$pid" 2>/dev/null
  tries=0
  while is_running && [ $tries -lt 200 ]; do tries=$((tries + 1)); sleep 0.1; done
  [ $# -eq 0 ] || rm -rf -- "$@"
`;

/**
 * Starts the watchdog of the server with this process id. After the server has stopped, or after 20 s, the
 * watchdog removes the folders.
 */
export function watchOver(pid: number, foldersToRemove: readonly string[]): Watchdog {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'bay-booking-watchdog', String(pid), ...foldersToRemove], {
    // The working directory of this process may be removed before the watchdog ends.
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a process group of its own, the watchdog does not get the SIGINT of Ctrl-C in the terminal.
    detached: true,
  });
  // Without a listener, a broken pipe would end this process.
  child.stdin.on('error', () => {});
  // Without these calls of `unref`, the watchdog and its pipe would keep this process running. The pipe is a socket and
  // has the method `unref`, although its TypeScript type does not declare this method.
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
