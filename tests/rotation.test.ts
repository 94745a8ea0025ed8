// Do keys rotate live (contract section 6, "Signing keys")? Clients fetch tokens and book with them while the operator's own command rotates:
// not one is refused, and no instance is started anew.
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
/** Seconds that a new key is published before it signs: more than the instances take to look. */
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

const keys = (...words: readonly string[]) =>
  run(process.execPath, ['src/commands/keys.ts', ...words], {
    cwd: join(import.meta.dirname, '..', 'apps', 'auth'),
    env: {
      ...process.env,
      DATABASE_URL: system.database.urlOf('auth'),
      KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
      KEY_PUBLISH_DELAY: String(publishDelay),
    },
  });

test('rotation while 4 clients fetch tokens and call the Bookings API: not one refusal, no restart', async () => {
  const signers: string[] = [];
  const outcomes: Record<string, number> = {};
  let going = true;
  const client = async (index: number): Promise<void> => {
    for (let turn = index; going; turn += 1) {
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
      const { stdout } = await keys('rotate');
      expect(stdout).toMatch(/ES256 {2}next/);
      await eventually(async () => signers.length === rotations + 1);
    }
  } finally {
    going = false;
  }
  await clients;
  expect(Object.keys(outcomes)).toEqual(['201']);
  expect(outcomes[201]).toBeGreaterThan(50);
  expect([...auths, bookings].map(({ child }) => (child.exitCode === null ? child.pid : undefined))).toEqual(processes);
  const { stdout } = await keys('list');
  expect(stdout.match(/ES256 {2}retired/g)).toHaveLength(2);
}, 90_000);
