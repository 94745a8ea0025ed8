// Tests that an old Node.js gets a clear message instead of `Unknown file extension ".ts"`.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findNode } from '@bay-booking/testkit/programs';
import { root } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';

const node = findNode(20);
const testWithNode20 = node ? test : test.skip;
const message = /^Node\.js 24 or later is needed, and this is v20\./;

testWithNode20('a command says which version of Node.js it needs', () => {
  const { status, stderr } = spawnSync(node as string, [join(root, 'packages/service/check-node.js')]);
  expect({ status, stderr: stderr.toString() }).toEqual({ status: 1, stderr: expect.stringMatching(message) });
});

testWithNode20.each(['auth', 'bookings'])('start.sh of %s says it without the packages of npm', (app) => {
  using clone = mkdtempDisposableSync(join(tmpdir(), 'bay-booking-node-'));
  for (const file of [`apps/${app}/start.sh`, 'packages/service/check-node.js'])
    cpSync(join(root, file), join(clone.path, file), { recursive: true });
  const { status, stderr } = spawnSync('/bin/sh', ['start.sh'], {
    cwd: join(clone.path, 'apps', app),
    env: { PATH: `${dirname(node as string)}:/usr/bin:/bin` },
  });
  expect({ status, stderr: stderr.toString() }).toEqual({ status: 1, stderr: expect.stringMatching(message) });
});

test('every command of a service that npm runs checks the version', async () => {
  for (const app of ['auth', 'bookings']) {
    const { default: manifest } = await import(join(root, `apps/${app}/package.json`), { with: { type: 'json' } });
    const scripts = Object.values<string>(manifest.scripts).filter((text) => /src\/commands\/(?!openapi)/.test(text));
    expect(scripts.length).toBeGreaterThan(2);
    for (const script of scripts)
      expect(script).toMatch(/^node \.\.\/\.\.\/packages\/service\/check-node\.js && node src/);
  }
});
