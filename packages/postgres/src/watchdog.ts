// Stops another process when this process ends, even after a SIGKILL. The watchdog is a shell script that reads from a
// pipe, which closes when this process ends.
import { spawn } from 'node:child_process';

// The number of attempts is limited because `kill -0` also succeeds for a zombie.
const script = `
  pid=$1; shift
  while read -r _; do :; done
  kill -INT "$pid" 2>/dev/null
  tries=0
  while kill -0 "$pid" 2>/dev/null && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
  [ $# -eq 0 ] || rm -rf -- "$@"
`;

/** The watchdog removes the folders when the process has ended, or after 5 s. */
export function watchOver(pid: number, foldersToRemove: readonly string[] = []) {
  const child = spawn('/bin/sh', ['-c', script, 'bay-booking-watchdog', String(pid), ...foldersToRemove], {
    // This process's working directory may be removed before the watchdog ends.
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    // A process group of its own keeps the SIGINT of Ctrl-C away from the watchdog.
    detached: true,
  });
  // A broken pipe without a listener would end this process.
  child.stdin.on('error', () => {});
  // The watchdog and its pipe must not keep this process alive. The pipe's type does not declare `unref`.
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    /** Ends the watchdog and waits for its exit, so that no zombie process remains. */
    dismiss: async () => {
      child.ref();
      child.kill('SIGKILL');
      await ended;
    },
  };
}
