// Installs packages/client from its tarball into an empty folder, and uses the installed package: runs the examples of
// the README on Node 20 and 24, compiles programs, and loads the package in a browser.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { chromiumMissing, hasChromium, launchChromium } from '@bay-booking/testkit/browser';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { findNode } from '@bay-booking/testkit/programs';
import { read, root } from '@bay-booking/testkit/repository';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { useClientSystem } from '../support/client-system.ts';
import { getToken } from '../support/test-system.ts';

const run = promisify(execFile);
const readme = read('packages/client/README.md');
/** Returns the code blocks of the README in this language. */
const readmeBlocks = (language: string): readonly string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text]) => text as string);

/** All direct and indirect dependencies of the client. They are also packed, so that npm can install them offline. */
const dependencies = ['oauth4webapi', 'standardwebhooks', '@stablelib/base64', 'fast-sha256'];

async function installPackedClient() {
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-client-'));
  // The NODE_OPTIONS of the tests must not affect npm.
  const npm = async (...args: string[]) =>
    (await run('npm', args, { cwd: root, env: { ...process.env, NODE_OPTIONS: '' }, timeout: 120_000 })).stdout;
  const packages = [join(root, 'packages/client'), ...dependencies.map((name) => join(root, 'node_modules', name))];
  await npm('pack', ...packages, '--pack-destination', folder, '--silent');
  const tarballs = (await readdir(folder)).map((file) => join(folder, file));
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await npm('install', '--prefix', folder, '--offline', '--no-audit', '--no-fund', ...tarballs);
  const installed = join(folder, 'node_modules/@bay-booking/client');
  const files = await readdir(installed, { recursive: true, withFileTypes: true });
  return {
    folder,
    /** The paths of all files in the installed package. */
    files: files
      .filter((file) => file.isFile())
      .map((file) => join(file.parentPath, file.name).slice(installed.length + 1)),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

const system = useClientSystem();
let installed: Awaited<ReturnType<typeof installPackedClient>>;
beforeAll(async () => {
  installed = await installPackedClient();
});
afterAll(() => installed?.remove());

test('the tarball contains compiled modules with their types, and no sources', () => {
  const { files } = installed;
  expect(files).toEqual(expect.arrayContaining(['README.md', 'package.json', 'dist/client.js', 'dist/webhooks.d.ts']));
  const others = files.filter((file) => !/^dist\/.*\.(js|d\.ts)$/.test(file));
  expect(others.toSorted()).toEqual(['README.md', 'package.json']);
});

describe.each([
  ['20', findNode(20)],
  ['24', process.execPath],
])('on Node %s', (version, node) => {
  if (!node) process.stderr.write(`The client is not tested on Node ${version}: it is not on the PATH\n`);
  const testOnNode = node ? test : test.skip;

  /** Runs a program in the folder of the installed package, and returns its standard output. */
  async function runProgram(text: string): Promise<string> {
    const file = join(installed.folder, 'program.mjs');
    await writeFile(file, text.replace('http://localhost:4001', system.baseUrl));
    return (await run(node as string, [file], { env: { PATH: process.env.PATH }, timeout: 50_000 })).stdout;
  }

  testOnNode('the only JavaScript example of the README has at most 20 lines and books a bay', async () => {
    const [example = '', ...others] = readmeBlocks('js');
    expect(others).toEqual([]);
    expect(example.trim().split('\n').length).toBeLessThanOrEqual(20);
    expect(await runProgram(example)).toMatch(/^Bay \d is booked: [0-9a-f-]{36}\n$/);
  });

  testOnNode('bound tokens, the change feed and webhooks work', async () => {
    // The program prints `true` for the first page of the change feed, and then the id and the type of the webhook.
    const program = `
      import { createBookingsClient } from '@bay-booking/client';
      import { verifyWebhook } from '@bay-booking/client/webhooks';
      import { Webhook } from 'standardwebhooks';
      const auth = { clientId: 'demo-pat-north', clientSecret: 'demo-pat-north-secret', dpop: true };
      const client = createBookingsClient({ baseUrl: 'http://localhost:4001', auth });
      for await (const { startsOver } of client.changes.read()) console.log(startsOver);
      const secret = 'whsec_' + btoa('0123456789abcdef0123456789abcdef');
      const body = JSON.stringify({ type: 'webhook.ping', timestamp: new Date().toISOString(), data: {} });
      const headers = { 'webhook-id': 'id-1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) };
      headers['webhook-signature'] = new Webhook(secret).sign('id-1', new Date(), body);
      const { id, type } = verifyWebhook({ secret, headers, body });
      console.log(id, type);`;
    expect(await runProgram(program)).toBe('true\nid-1 webhook.ping\n');
  });
});

describe('TypeScript programs that use the package', () => {
  const typescript5 = join(root, 'tests/node_modules/typescript/bin/tsc');
  const typescript7 = join(root, 'node_modules/typescript/bin/tsc');
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022'];
  const forBrowser = ['--module', 'esnext', '--moduleResolution', 'bundler'];
  /**
   * Compiles files in the folder of the installed package.
   * @throws {Error} with the errors of the compiler
   */
  const compile = (compiler: string, files: readonly string[], ...options: string[]) =>
    run(process.execPath, [compiler, ...strict, ...options, ...files.map((file) => join(installed.folder, file))], {
      cwd: installed.folder,
      timeout: 60_000,
    }).catch(({ stdout }) => {
      throw new Error(stdout);
    });

  /** Joins examples in one module: first the imports of all examples, and last a function for each example. */
  function moduleOf(examples: readonly string[], declarations = ''): string {
    const importLine = /^import .*$/gm;
    const imports = new Set(examples.flatMap((text) => text.match(importLine) ?? []));
    const functions = examples.map(
      (text, index) => `export async function example${index}() {\n${text.replaceAll(importLine, '')}\n}`,
    );
    return [...imports, declarations, ...functions].join('\n');
  }

  beforeAll(async () => {
    const page = `
    import { BookingsApiError, createBookingsClient, type Booking } from '@bay-booking/client';
    const client = createBookingsClient({ baseUrl: 'https://x.example', auth: async ({ renew }) => String(renew) });
    export async function use(): Promise<Booking> {
      for await (const { bay, free } of client.availability.search({ bayIds: ['a'], startDate: '', endDate: '' }))
        console.log(bay.bookable, free[0]?.startDate);
      // @ts-expect-error startDate and endDate are mandatory
      client.availability.search({ bayIds: ['a'] });
      // @ts-expect-error bayId is mandatory
      await client.bookings.create({ userAlias: 'Ada', startDate: '', endDate: '' });
      // @ts-expect-error the filter has another name
      client.bookings.search({ bayId: 'a' });
      // @ts-expect-error the path parameter of getBooking is mandatory
      await client.request('getBooking', {});
      const { data } = await client.request('searchBookings', { query: { isActive: true } });
      const first: string | undefined = data.items[0]?.id;
      // @ts-expect-error the code does not exist
      new BookingsApiError(400, [], new Headers()).has('BOOK99999');
      return client.bookings.get(first ?? '');
    }`;
    await writeFile(join(installed.folder, 'page.ts'), page);
    const examples = readmeBlocks('js');
    // An error in `readmeBlocks` could otherwise leave nothing to compile.
    expect(examples).toHaveLength(1);
    await writeFile(join(installed.folder, 'first.ts'), examples.join(''));
  });

  test.each([
    ['5', typescript5],
    ['7', typescript7],
  ])('a page and the first example of the README get the correct types from TypeScript %s', (_version, compiler) =>
    compile(compiler, ['page.ts', 'first.ts'], ...forBrowser),
  );

  test('all examples of the README compile for Node', async () => {
    const examples = readmeBlocks('ts');
    // An error in `readmeBlocks` could otherwise leave nothing to compile.
    expect(examples.length).toBeGreaterThan(4);
    // The examples use these variables without declaring them.
    const variables = ['bayId', 'userAlias', 'startDate', 'endDate', 'holdId', 'id', 'secret', 'body', 'baseUrl'];
    const declarations = `
      import { type BookingItem, type BookingsClientOptions, createBookingsClient } from '@bay-booking/client';
      import type { IncomingMessage } from 'node:http';
      declare const client: ReturnType<typeof createBookingsClient>;
      ${variables.map((name) => `declare const ${name}: string;`).join('\n')}
      declare const order: { id: string }; declare const signal: AbortSignal; declare const request: IncomingMessage;
      declare const auth: BookingsClientOptions['auth'];
      declare const store: {
        loadPosition(): Promise<string | undefined>; inTransaction(work: () => Promise<void>): Promise<void>;
        deleteBookings(): Promise<void>; deleteBooking(id: string): Promise<void>;
        saveBooking(booking: BookingItem): Promise<void>; savePosition(next: string): Promise<void>;
      };`;
    await writeFile(join(installed.folder, 'examples.ts'), moduleOf(examples, declarations));
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), '--skipLibCheck'];
    await compile(typescript7, ['examples.ts'], '--module', 'nodenext', ...types);
    await compile(typescript7, ['first.ts'], '--module', 'nodenext', '--noUncheckedIndexedAccess');
  });
});

describe('the package in a browser', () => {
  /** The URL path of the main module of each package. */
  const imports = {
    '@bay-booking/client': '/@bay-booking/client/dist/client.js',
    oauth4webapi: '/oauth4webapi/build/index.js',
  };

  if (!hasChromium) process.stderr.write(`The client is not tested in a browser: ${chromiumMissing}\n`);

  (hasChromium ? test : test.skip)(
    'the client creates and deletes a booking with a token that a function returns',
    async () => {
      const html = `<script type="importmap">${JSON.stringify({ imports })}</script>`;
      const server = await serveHttp(async ({ url = '/' }, response) => {
        if (url === '/') return void response.writeHead(200, { 'Content-Type': 'text/html' }).end(html);
        const text = await readFile(join(installed.folder, 'node_modules', normalize(url)), 'utf8').catch(
          () => undefined,
        );
        response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': 'text/javascript' }).end(text);
      });
      const browser = await launchChromium();
      try {
        const page = await browser.newPage();
        await page.goto(server.url);
        const token = await getToken(system.auth.base);
        const script = `(async () => {
        const { createBookingsClient } = await import('@bay-booking/client');
        const client = createBookingsClient({ baseUrl: '${system.baseUrl}', auth: () => '${token}' });
        const startDate = new Date(Date.now() + 100 * 86400000).toISOString();
        const booking = { bayId: 'bay-n2-05', userAlias: 'Ada', startDate, endDate: startDate };
        const { id, etag } = await client.bookings.create(booking);
        await client.bookings.delete(id, { ifMatch: etag });
        return client.bookings.get(id).catch((error) => [error.name, error.problems[0].code, etag.length > 0]);
      })()`;
        expect(await page.evaluate(script)).toEqual(['BookingsApiError', 'ERR00404', true]);
      } finally {
        await browser.close();
        await server.close();
      }
    },
  );
});
