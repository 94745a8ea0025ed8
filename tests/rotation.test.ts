// Tests that signing keys rotate without a failed request and without a restart (docs/behaviour-auth.md, "Signing
// keys"). Clients get tokens and create bookings with them while the operator's command rotates the keys.
import { setTimeout as pause } from 'node:timers/promises';
import { useFixture } from '@bay-booking/testkit/fixture';
import { eventually } from '@bay-booking/testkit/wait';
import { beforeAll, expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { keyEncryptionKey, runCommand } from './support/commands.ts';
import type { Instance } from './support/instance.ts';
import { bookOnce, getToken, startTestSystem } from './support/test-system.ts';

/**
 * Lets the new keys sign 25 s earlier than the 30 s after their publication. Each instance reads the key table every
 * 2 s. All instances therefore publish a new key before any of them signs with the key.
 */
const shortenPublishDelay = () =>
  system.database.query(
    'auth',
    "update signing_key set signs_from = signs_from - interval '25 s' where state = 'next'",
  );

const system = useFixture(startTestSystem);
let authInstances: readonly Instance[];
let bookings: Instance;
beforeAll(async () => {
  authInstances = [await system.startAuth(), await system.startSecondAuth()];
  bookings = await system.startBookings();
});

const runKeysCommand = (subcommand: string): Promise<string> => {
  const environment = {
    DATABASE_URL: system.database.urlOf('auth'),
    KEY_ENCRYPTION_KEY: keyEncryptionKey,
  };
  const input = '';
  return runCommand('auth', environment, 'signing-keys.ts', input, [subcommand]);
};

test('no request of four clients fails while the signing keys rotate twice, and no process restarts', async () => {
  const keyIds = new Set<string>();
  const statuses: Record<number, number> = {};
  let isRunning = true;
  const client = async (index: number): Promise<void> => {
    for (let turn = index; isRunning; turn += 1) {
      const token = await getToken((authInstances[turn % authInstances.length] as Instance).base);
      const { kid } = decodeProtectedHeader(token) as { kid: string };
      keyIds.add(kid);
      const status = await bookOnce(bookings.base, token);
      statuses[status] = (statuses[status] ?? 0) + 1;
      // Without pauses, the clients would use the cores that the rotation needs.
      await pause(50);
    }
  };
  const clients = Promise.all([0, 1, 2, 3].map(client));
  try {
    for (const rotations of [1, 2]) {
      // The command prints a line for each key, with two spaces between the columns.
      expect(await runKeysCommand('rotate')).toMatch(/ES256 {2}next/);
      await shortenPublishDelay();
      await eventually(async () => keyIds.size === rotations + 1);
    }
  } finally {
    isRunning = false;
  }
  await clients;
  expect(Object.keys(statuses)).toEqual(['201']);
  expect(statuses[201]).toBeGreaterThan(50);
  for (const { child } of [...authInstances, bookings]) expect(child.exitCode).toBeNull();
  expect((await runKeysCommand('list')).match(/ES256 {2}retired/g)).toHaveLength(2);
});
