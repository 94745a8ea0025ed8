// Runs the example programs in the folder examples/ against both services, with the demo.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@bay-booking/postgres/ports';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { type RunningProcess, startProcess } from '@bay-booking/testkit/process';
import { findFiles, read, root, shellBlocks } from '@bay-booking/testkit/repository';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { useClientSystem } from '../support/client-system.ts';
import { nodeEnvironment } from '../support/commands.ts';

const run = promisify(execFile);

const system = useClientSystem();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bay-booking-examples-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const programs: RunningProcess[] = [];
afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.stop()));
});

/** Starts an example with the command in the script `start` of its package.json: `node OPTION FILE`. */
function startExample(name: string, environment: Record<string, string>): RunningProcess {
  const { scripts } = JSON.parse(read(`examples/${name}/package.json`));
  const [, option, file] = /^node (\S+) (\S+)$/.exec(scripts.start) as unknown as [string, string, string];
  const program = startProcess(process.execPath, [option, `examples/${name}/${file}`], {
    cwd: root,
    env: { ...nodeEnvironment, BOOKINGS_URL: system.baseUrl, ...environment },
  });
  programs.push(program);
  return program;
}

test.each(findFiles('examples/*/*.ts'))('%s has fewer than 150 lines', (file) => {
  expect(read(file).split('\n').length).toBeLessThan(150);
});

test('examples/partner lists free times, books a bay and a party, receives the webhook, and rejects a forged webhook', async () => {
  const port = await freePort();
  const shop = `http://localhost:${port}`;
  const partner = startExample('partner', { PORT: String(port) });
  await partner.untilPrinted(/Listening/);
  const [, commands = ''] = shellBlocks(read('examples/partner/README.md'));
  const { stdout } = await run('sh', ['-e', '-c', commands.replace('http://localhost:4020', shop)], {
    timeout: 30_000,
  });
  // Only the list of free times contains bay-n2-05, because the commands book bay-n2-03.
  expect(stdout).toContain('"bayId":"bay-n2-05"');
  // The commands send one order twice, and both responses contain the id of the same booking.
  const [id, repeatedId, ...otherIds] = [...stdout.matchAll(/"bookingId":"([^"]+)"/g)].map(([, text]) => text);
  expect(id).toEqual(expect.any(String));
  expect([repeatedId, ...otherIds]).toEqual([id]);
  // Both requests for the party return the same group.
  const groups = [...stdout.matchAll(/"groupId":"([^"]+)"/g)].map(([, text]) => text);
  expect(groups).toEqual([groups[0], groups[0]]);
  await partner.untilPrinted(new RegExp(`booking.created ${id}: bay-n2-03`));
  const orders = await (await fetch(`${shop}/orders`)).json();
  expect(orders).toMatchObject({ [id as string]: { state: 'booking.created', bayId: 'bay-n2-03' } });
  const forged = await fetch(`${shop}/hook`, { method: 'POST', body: '{}', headers: { 'webhook-id': 'x' } });
  expect(forged.status).toBe(400);
  expect(await partner.stop()).toBe(0);
});

test('examples/screen signs in with a code, follows the bookings of its bay, and can be restarted', async () => {
  const environment = { AUTH_URL: system.auth.base, BAY_ID: 'bay-n2-04', STATE_FILE: join(folder, 'screen.json') };
  const client = system.createClient();
  /** Books the bay of the screen for an hour. */
  const book = (hoursFromNow: number, userAlias: string) => {
    const [startDate, endDate] = [hoursFromNow, hoursFromNow + 1].map((hours) =>
      new Date(Date.now() + hours * 3_600_000).toISOString(),
    ) as [string, string];
    return client.bookings.create({ bayId: 'bay-n2-04', userAlias, startDate, endDate });
  };
  const ada = await book(48, 'Ada');

  const screen = startExample('screen', environment);
  const [, address = '', code = ''] = await screen.untilPrinted(/Sign in at (\S+) with the code (\S+)/);
  // A member of staff enters the code, confirms it, signs in, and allows the access.
  const browser = openFormBrowser([system.auth.base]);
  const allow = { name: 'decision', value: 'allow' };
  const entered = await browser.submit(address, { user_code: code });
  const signIn = await browser.send(entered, {}, allow);
  const consent = await browser.send(signIn, { username: 'owner@north.example', password: 'demo-owner-pass' });
  await browser.send(consent, {}, allow);
  await screen.untilPrinted(/bay-n2-04: 1 bookings\n.*Ada/);
  await client.bookings.update(ada.id, { ...ada, userAlias: 'Bob' });
  await screen.untilPrinted(/bay-n2-04: 1 bookings\n.*Bob/);
  expect(await screen.stop()).toBe(0);

  await book(24, 'Eve');
  const restarted = startExample('screen', environment);
  // The screen first shows the bookings that it has stored in STATE_FILE, and then reads the changes since then.
  await restarted.untilPrinted(/bay-n2-04: 1 bookings\n.*Bob/);
  await restarted.untilPrinted(/bay-n2-04: 2 bookings\n.*Eve\n.*Bob/);
  await client.bookings.delete(ada.id);
  await restarted.untilPrinted(/bay-n2-04: 1 bookings\n.*Eve/);
  expect(restarted.output()).not.toContain('Sign in at');
});
