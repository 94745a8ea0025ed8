// Who stops the server when this process is killed with -9? A shell that waits for the end of its input, which comes when the pipe's
// other side dies, whatever the reason.
import { spawn } from 'node:child_process';

export interface Watchdog {
  /** Waits until it is gone, so that not even a zombie stays behind. */
  dismiss(): Promise<void>;
}

// A zombie answers kill -0, and where nobody reaps it, it would for ever.
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
