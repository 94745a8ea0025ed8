// Runs commands and services of the apps as child processes and prints their log lines, with links from e-mails.
import { spawn } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { watchOver } from '@bay-booking/postgres/watchdog';
import type { AppName, Environment } from './settings.ts';

/** A stopping service may take 30 s to finish its requests. */
const stopLimitMs = 35_000;

/** An e-mail in a log line of auth. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

interface ChildOptions {
  app: AppName;
  folder: string;
  env: Environment;
  print: (line: string) => void;
  onMail: (mail: Mail) => void;
}

/** @throws {Error} if the command fails or the signal aborts */
export async function runToEnd(
  options: ChildOptions & { args: readonly string[]; input?: string; signal: AbortSignal },
): Promise<void> {
  const { app, folder, env, args, input, signal } = options;
  const child = spawn(process.execPath, args, { cwd: folder, env, signal });
  // Writing fails if the command exits before it has read its input. The exit code shows whether the command failed.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  printLines(options, [child.stdout, child.stderr]);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, name) => {
      if (code === 0) resolve();
      else reject(new Error(`${app}: ${args.join(' ')} failed with ${name ?? `exit code ${code}`}`));
    });
  });
}

export type Service = ReturnType<typeof startService>;

/** Starts a service and a watchdog that stops the service if this process is killed. */
export function startService(options: ChildOptions & { watch: boolean }) {
  const { app, folder, env, watch, print } = options;
  const watchFlags = watch ? ['--watch', '--watch-preserve-output'] : [];
  // This PATH makes start.sh use the Node that runs this process.
  const path = `${dirname(process.execPath)}${delimiter}${env.PATH ?? ''}`;
  // start.sh replaces its shell with Node (`exec`), so the process id stays the same.
  const child = spawn('sh', ['start.sh', ...watchFlags], {
    cwd: folder,
    env: { ...env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  printLines(options, [child.stdout, child.stderr]);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`${app} could not be started: ${error.message}`));
    child.once('exit', (code, name) => resolve(`${app} has ended with ${name ?? `exit code ${code}`}`));
  });
  const watchdog = child.pid === undefined ? undefined : watchOver(child.pid);
  return {
    ended,
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => {
        print(`${app} did not stop within ${stopLimitMs / 1000} s and was killed`);
        child.kill('SIGKILL');
      }, stopLimitMs);
      await ended;
      clearTimeout(timer);
      await watchdog?.dismiss();
    },
  };
}

function printLines({ app, env, print, onMail }: ChildOptions, streams: readonly Readable[]): void {
  for (const input of streams)
    createInterface({ input }).on('line', (line) => {
      const { mail, printed } = readLogLine(app, line, Boolean(env.LOG_LEVEL));
      if (mail) onMail(mail);
      for (const text of printed) print(text);
    });
}

/** Returns the e-mail of a log line and what is printed: requests and audit events only if `showRequests` is set. */
export function readLogLine(app: string, line: string, showRequests: boolean) {
  const { msg, audit, mail } = parseLogLine(line);
  if (mail) {
    const links = mail.text.match(/https?:\/\/\S+/g) ?? [];
    return { mail, printed: ['', `Mail to: ${mail.to}`, `Subject: ${mail.subject}`, ...links, ''] };
  }
  const isRequest = msg === 'request' || audit !== undefined;
  // `bookings` is the longest app name.
  return { printed: isRequest && !showRequests ? [] : [`${app.padEnd('bookings'.length)} | ${line}`] };
}

function parseLogLine(line: string): { msg?: string; audit?: unknown; mail?: Mail } {
  try {
    // A line such as `null` is JSON too.
    return JSON.parse(line) ?? {};
  } catch {
    return {};
  }
}
