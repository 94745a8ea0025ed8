// Tests the lock file: exactly one of several processes gets the lock, and the lock of an ended process is free.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { claimPidFile, HeldByAnotherProcess } from '../src/pid-file.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bay-booking-pid-file-'));
  path = join(folder, 'lock.pid');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the lock of an ended process is free', () => {
  writeFileSync(path, '999999999\nan earlier start time\n');
  expect(claimPidFile(path).isAfterCrash).toBe(true);
});

test('the lock of an ended process is free, even if another process now has the same process id', () => {
  writeFileSync(path, `${process.pid}\nan earlier start time\n`);
  expect(claimPidFile(path).isAfterCrash).toBe(true);
});

test('the lock cannot be claimed again before it is released', () => {
  const lock = claimPidFile(path);
  expect(lock.isAfterCrash).toBe(false);
  expect(() => claimPidFile(path)).toThrow(HeldByAnotherProcess);
  lock.release();
  expect(claimPidFile(path).isAfterCrash).toBe(false);
});

test('exactly one of several processes that claim the lock at the same time gets the lock', async () => {
  writeFileSync(path, '999999999\nan earlier start time\n');
  const source = join(import.meta.dirname, '../src/pid-file.ts');
  // Each process prints "started", waits for a line on its standard input, claims the lock, and prints the result.
  const script = `
    const { claimPidFile } = await import(${JSON.stringify(source)});
    process.stdin.once('data', () => {
      try { claimPidFile(${JSON.stringify(path)}); console.log('locked'); } catch (error) { console.log(error.name); }
    });
    console.log('started');`;
  const children: ChildProcess[] = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  try {
    const nextLine = async (child: ChildProcess) =>
      String((await once(child.stdout as NodeJS.ReadableStream, 'data'))[0]).trim();
    expect(await Promise.all(children.map(nextLine))).toEqual(children.map(() => 'started'));
    const results = Promise.all(children.map(nextLine));
    for (const child of children) child.stdin?.write('go');
    expect((await results).filter((text) => text === 'locked')).toHaveLength(1);
    expect(readdirSync(folder)).toEqual(['lock.pid']);
    expect(children.map(({ pid }) => String(pid))).toContain(readFileSync(path, 'utf8').split('\n')[0]);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
});
