// Tests the website of docs/sign-in.md. The test changes only its URLs and the number of seconds before expiry at which
// the website refreshes its token.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { read, root } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';
import { eventually, scopes } from './auth-server.ts';
import { player } from './flows.ts';
import { startSocialServer } from './social-server.ts';

const allow = { name: 'decision', value: 'allow' };

const server = useFixture(() => startSocialServer());

async function freePort(): Promise<number> {
  const probe = createServer().listen(0);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Runs the website of the guide. Its access tokens expire after 60 s. Every page view refreshes the tokens. */
async function startWebsite() {
  const port = await freePort();
  const site = `http://localhost:${port}`;
  await server.load({
    clients: [
      {
        client_id: 'demo-web',
        client_secret: 'demo-web-secret',
        redirect_uris: [`${site}/callback`],
        post_logout_redirect_uris: [`${site}/signed-out`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: scopes.all.join(' '),
        access_token_ttl: 60,
      },
    ],
  });
  const program = read('examples/website/website.mjs')
    .replaceAll('http://localhost:4000', server.origin)
    .replaceAll('4010', String(port))
    // The website refreshes tokens that expire within 30 s. With 90 s, it refreshes every token of this client (60 s).
    .replace('expiresIn() < 30', 'expiresIn() < 90');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { cwd: root, stdio: 'inherit' });
  await eventually(() => fetch(site).catch(() => undefined));
  return { site, stop: () => child.kill() };
}

test('the website signs a user in with code and PKCE, refreshes the token, and signs the user out', async () => {
  const { site, stop } = await startWebsite();
  try {
    const browser = openFormBrowser([server.origin, site]);
    expect((await browser.open(site)).html).toBe('Nobody is signed in.');
    const consent = await browser.send(await browser.open(`${site}/sign-in`), player);
    expect((await browser.send(consent, {}, allow)).html).toBe('Hello Pat Player');
    expect((await browser.open(site)).html).toBe('Hello Pat Player');
    // The signed-in user has seen the page twice. Each time, the website has refreshed the tokens.
    const metrics = await (await fetch(`${server.origin}/metrics`)).text();
    expect(metrics).toMatch(/auth_tokens_total\{[^}]*grant_type="refresh_token"[^}]*outcome="issued"[^}]*\} 2/);

    const question = await browser.open(`${site}/sign-out`);
    const signedOut = await browser.send(question, {}, 'Sign out');
    expect(signedOut.url.href).toBe(`${site}/signed-out`);
    expect(signedOut.html).toBe('Nobody is signed in.');
    expect((await browser.open(`${site}/sign-in`)).title).toMatch(/^Sign in/);
  } finally {
    stop();
  }
});

test('the website reports that the user has cancelled', async () => {
  const { site, stop } = await startWebsite();
  try {
    const browser = openFormBrowser([server.origin, site]);
    const cancelled = await browser.send(await browser.open(`${site}/sign-in`), {}, 'Cancel');
    expect([cancelled.status, cancelled.html]).toEqual([400, 'Sign-in failed: access_denied']);
  } finally {
    stop();
  }
});
