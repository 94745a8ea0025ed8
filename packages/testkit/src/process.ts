// Runs a program for a test, which reads its output, waits for a certain output and stops the program.
import { type StdioOptions, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

interface ProcessOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Default: the program has no standard input. */
  readonly stdio?: StdioOptions;
}

export type RunningProcess = ReturnType<typeof startProcess>;

/** On a busy machine, the start of the whole system can take two minutes. */
const printTimeoutMs = 150_000;

export function startProcess(
  command: string,
  args: readonly string[],
  { stdio = ['ignore', 'pipe', 'pipe'], ...options }: ProcessOptions = {},
) {
  const child = spawn(command, args, { ...options, stdio });
  const printed = new EventEmitter();
  let output = '';
  let errors = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    output += text;
    printed.emit('text');
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    errors += text;
    printed.emit('text');
  });
  /** Resolves with the exit code, or with the signal that ended the program. */
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  return {
    child,
    ended,
    /** Returns the standard output so far. */
    output: () => output,
    /** Returns the standard error so far. */
    errors: () => errors,
    /** Waits until the output matches the pattern. Rejects with the output if the program ends before. */
    untilPrinted: async (pattern: RegExp): Promise<RegExpExecArray> => {
      const fail = (reason: string) =>
        Promise.reject(new Error(`${command} ${reason} and has not printed ${pattern}:\n${output}${errors}`));
      const failed = Promise.race([
        ended.then((result) => fail(`ended with ${result}`)),
        once(AbortSignal.timeout(printTimeoutMs), 'abort').then(() => fail('runs')),
      ]);
      // Without a handler, the later end of the program would be an unhandled rejection.
      failed.catch(() => {});
      for (;;) {
        const match = pattern.exec(output + errors);
        if (match) return match;
        await Promise.race([once(printed, 'text'), failed]);
      }
    },
    /** Sends a signal, which has no effect on a program that has ended. Returns the same as `ended`. */
    stop: (signal: NodeJS.Signals = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
}
