// Tests that signing keys rotate without a failed request and without a restart (docs/behaviour.md, "Signing keys").
// Clients get tokens and create bookings with them while the operator's command rotates the keys.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@bay-booking/postgres/ports';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import type { Instance } from './support/instance.ts';
import { bookOnce, getToken, startTestSystem, type TestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';

const run = promisify(execFile);
/**
 * In seconds. Each instance reads the key table every 2 s. All instances therefore publish a new key before any of them
 * signs with the key.
 */
const publishDelay = 5;

let system: TestSystem;
let auths: readonly Instance[];
let bookings: Instance;

beforeAll(async () => {
  system = await startTestSystem();
  const [port] = (await freePorts(1)) as [number];
  const first = await system.startAuth();
  auths = [first, await system.startAuth({ port })];
  bookings = await system.startBookings();
}, 90_000);
afterAll(() => system?.stop(), 60_000);

const runKeysCommand = (...words: readonly string[]) =>
  run(process.execPath, ['src/commands/keys.ts', ...words], {
    cwd: join(import.meta.dirname, '..', 'apps', 'auth'),
    env: {
      ...process.env,
      DATABASE_URL: system.database.urlOf('auth'),
      KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
      KEY_PUBLISH_DELAY: String(publishDelay),
    },
  });

test('no request fails while keys rotate and 4 clients fetch tokens and create bookings', async () => {
  const signers: string[] = [];
  const outcomes: Record<string, number> = {};
  let isRunning = true;
  const client = async (index: number): Promise<void> => {
    for (let turn = index; isRunning; turn += 1) {
      const token = await getToken((auths[turn % auths.length] as Instance).base);
      const { kid } = decodeProtectedHeader(token) as { kid: string };
      if (!signers.includes(kid)) signers.push(kid);
      const status = await bookOnce(bookings.base, token);
      outcomes[status] = (outcomes[status] ?? 0) + 1;
    }
  };
  const processes = [...auths, bookings].map(({ child }) => child.pid);
  const clients = Promise.all([0, 1, 2, 3].map(client));
  try {
    for (const rotations of [1, 2]) {
      const { stdout } = await runKeysCommand('rotate');
      expect(stdout).toMatch(/ES256 {2}next/);
      await eventually(async () => signers.length === rotations + 1);
    }
  } finally {
    isRunning = false;
  }
  await clients;
  expect(Object.keys(outcomes)).toEqual(['201']);
  expect(outcomes[201]).toBeGreaterThan(50);
  expect([...auths, bookings].map(({ child }) => (child.exitCode === null ? child.pid : undefined))).toEqual(processes);
  const { stdout } = await runKeysCommand('list');
  expect(stdout.match(/ES256 {2}retired/g)).toHaveLength(2);
}, 90_000);
