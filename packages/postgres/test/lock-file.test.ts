// Tests the lock file: exactly one of several processes gets the lock, and the lock of an ended process is free. The
// file contains the process id and the start time of its owner. No process has the id 999999999.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { acquireLock, LockedByAnotherProcess } from '../src/lock-file.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bay-booking-lock-file-'));
  path = join(folder, 'lock.pid');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the lock of an ended process is free', () => {
  writeFileSync(path, '999999999\nan earlier start time\n');
  expect(acquireLock(path).isAfterCrash).toBe(true);
});

test('the lock of an ended process is free, even if another process now has the same process id', () => {
  writeFileSync(path, `${process.pid}\nan earlier start time\n`);
  expect(acquireLock(path).isAfterCrash).toBe(true);
});

test('the lock cannot be acquired again before it is released', () => {
  const lock = acquireLock(path);
  expect(lock.isAfterCrash).toBe(false);
  expect(() => acquireLock(path)).toThrow(LockedByAnotherProcess);
  lock.release();
  expect(acquireLock(path).isAfterCrash).toBe(false);
});

test('a release does not remove the lock of another process', () => {
  const lock = acquireLock(path);
  const other = '999999999\na start time\n';
  writeFileSync(path, other);
  lock.release();
  expect(readFileSync(path, 'utf8')).toBe(other);
});

test('exactly one of several processes that request the lock at the same time gets the lock', async () => {
  writeFileSync(path, '999999999\nan earlier start time\n');
  const source = join(import.meta.dirname, '../src/lock-file.ts');
  // Each process prints "started", waits for a line on its standard input, requests the lock, and prints the result.
  const script = `
    const { acquireLock } = await import(${JSON.stringify(source)});
    process.stdin.once('data', () => {
      try { acquireLock(${JSON.stringify(path)}); console.log('locked'); } catch (error) { console.log(error.name); }
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
