// Runs a program of this repository. Tests read the output of the program and can wait for a certain output.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from './wait.ts';

const root = join(import.meta.dirname, '../..');

export type Program = ReturnType<typeof startProgram>;

/** Starts Node in the folder of the repository with these arguments. */
export function startProgram(args: readonly string[], environment: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: root,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
  return {
    /** Returns the standard output and the standard error so far. */
    output: () => output,
    /**
     * Waits until the output matches the pattern, and returns the match.
     * @throws {Error} if the output does not match within 30 s. The message contains the output.
     */
    waitForOutput: (pattern: RegExp) =>
      // `exec` returns null for no match, but `eventually` expects undefined.
      eventually(async () => pattern.exec(output) ?? undefined).catch((cause) => {
        throw new Error(`${args.at(-1)} printed no ${pattern}:\n${output}`, { cause });
      }),
    /** Ends the program with SIGTERM. Returns its exit code, or null if a signal killed the program. */
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      return (await exited)[0];
    },
  };
}
