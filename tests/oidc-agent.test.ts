// Tests device sign-in with oidc-agent, a program of another project. The program signs in, and the test books a bay
// with its access token (docs/behaviour-auth.md, "Device sign-in"). The test is skipped on a machine without the Debian
// package oidc-agent-cli.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { findOidcAgent } from '@bay-booking/testkit/programs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { runCommand } from './support/commands.ts';
import { bookOnce, type Services, startTestSystem, type TestSystem } from './support/test-system.ts';

/** The path of oidc-gen, a program of the package oidc-agent-cli. Undefined if the package is not installed. */
const generatorPath = findOidcAgent();
if (!generatorPath)
  process.stderr.write('skipping the test of oidc-agent: the Debian package oidc-agent-cli is missing\n');
const withAgent = generatorPath ? test : test.skip;
const pathOfProgram = (name: string): string => join(dirname(generatorPath ?? ''), name);
const run = promisify(execFile);

const client = {
  client_id: 'agent',
  client_secret: 'agent-secret',
  client_name: 'oidc-agent',
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
  scope: 'openid profile offline_access https://bay-booking.example/golf/bookings',
};
const owner = { username: 'owner@north.example', password: 'demo-owner-pass' };

let system: TestSystem;
let services: Services;
/** The running agent: the path of its socket, and the id of its process. */
let agent: { readonly socket: string; readonly dpid: string } | undefined;
let folder: string;
let environment: NodeJS.ProcessEnv;
beforeAll(async () => {
  if (!generatorPath) return;
  folder = await mkdtemp(join(tmpdir(), 'oidc-agent-'));
  system = await startTestSystem();
  const input = JSON.stringify({ clients: [client] });
  await runCommand('auth', { DATABASE_URL: system.database.ownerUrlOf('auth') }, 'import.ts', input);
  services = await system.startServices();
  environment = { ...process.env, HOME: folder, TMPDIR: folder, OIDC_CONFIG_DIR: folder };
  const { stdout } = await run(pathOfProgram('oidc-agent'), ['--json'], { env: environment });
  agent = JSON.parse(stdout);
  environment.OIDC_SOCK = agent?.socket;
});
afterAll(async () => {
  if (agent) process.kill(Number(agent.dpid));
  await system?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/**
 * Waits until the standard error of a program matches the pattern. Resolves with the first group of the match.
 * @throws {Error} with the standard error when the program ends without a match
 */
const findInErrors = ({ stderr }: ChildProcess, pattern: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    stderr?.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      const found = pattern.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    stderr?.on('end', () => reject(new Error(text)));
  });

/** Enters the code of the device in a browser, signs in and allows the access. */
async function connect(userCode: string): Promise<void> {
  const browser = openFormBrowser([services.auth.base]);
  const entered = await browser.send(await browser.open(`${services.auth.base}/device`), { user_code: userCode });
  const allow = { name: 'decision', value: 'allow' };
  const page = await browser.send(await browser.send(entered, {}, allow), owner);
  // The consent is remembered.
  const { title } = page.title.startsWith('Allow') ? await browser.send(page, {}, allow) : page;
  expect(title).toMatch(/^oidc-agent is connected/);
}

withAgent(
  'oidc-agent signs in with a device code and refreshes its token, with which the test books a bay',
  async () => {
    // With these options, oidc-gen does not register a client, ask for values or open a browser.
    const options = [
      '--manual',
      '--flow=device',
      '--prompt=none',
      '--no-url-call',
      '--confirm-default',
      '--redirect-uri=',
    ];
    const account = [`--iss=${services.auth.base}`, `--client-id=${client.client_id}`, `--scope=${client.scope}`];
    // oidc-agent encrypts the stored account `bay` with the password that the command `echo password` prints.
    const secrets = [`--client-secret=${client.client_secret}`, '--pw-cmd=echo password'];
    const generator = spawn(pathOfProgram('oidc-gen'), [...options, ...account, ...secrets, 'bay'], {
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(generator, 'exit');
    await connect(await findInErrors(generator, /enter the code: (\S+)\s/));
    expect(await ended).toEqual([0, null]);

    // `--force-new` makes the agent use its refresh token.
    const { stdout } = await run(pathOfProgram('oidc-token'), ['--force-new', 'bay'], { env: environment });
    const token = stdout.trim();
    expect(decodeJwt(token)).toMatchObject({ client_id: 'agent', facilities: ['fac-north'] });
    expect(await bookOnce(services.firstInstance.base, token)).toBe(201);
  },
);
