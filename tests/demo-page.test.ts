// Tests the demo page of `npm start`: runs every flow of the page with the commands that it shows.
import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { promisify } from 'node:util';
import { freePort } from '@bay-booking/postgres/ports';
import { findViolations, launchChromium, overflowsHorizontally, viewports } from '@bay-booking/testkit/browser';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, test } from '@jest/globals';
import { describeInChromium } from './support/browser-system.ts';
import { useSystem } from './support/npm-start.ts';

const demoPort = await freePort();
const demo = `http://localhost:${demoPort}`;
const player = { username: 'player@example.com', password: 'demo-player-pass' };

/** Returns the text of HTML without tags. The entities that this function does not know cannot occur in the page. */
const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

const commandsOf = ({ html }: Page): readonly string[] =>
  [...html.matchAll(/<pre tabindex="0"><code>([\s\S]*?)<\/code>/g)].map(([, code = '']) => textOf(code));

const run = async (command: string): Promise<Record<string, unknown>> =>
  JSON.parse((await promisify(execFile)('sh', ['-e', '-c', command], { timeout: 50_000 })).stdout);

/** Opens the page at the redirect address as if it had the port of the demo page. */
const openRedirect = (browser: FormBrowser, { url }: Page): Promise<Page> =>
  browser.open(`${demo}${url.pathname}${url.search}`);

/** Presses the buttons of a stand-in, the sign-in, the device page and the consent, until none of them is left. */
async function signIn(browser: FormBrowser, first: Page): Promise<Page> {
  let page = first;
  for (let step = 0; step < 5 && page.forms.length > 0; step += 1) {
    const has = (name: string) => page.forms.some(({ fields }) => fields.some((field) => field.name === name));
    const buttons = page.forms.flatMap((form) => form.buttons);
    const user = buttons.find(({ name }) => name === 'user');
    if (user) page = await browser.send(page, {}, { name: 'user', value: user.value });
    else if (has('password')) page = await browser.send(page, player);
    else if (buttons.some(({ name }) => name === 'decision'))
      page = await browser.send(page, {}, { name: 'decision', value: 'allow' });
    else if (has('user_code')) page = await browser.send(page, {}, 'Continue');
    else break;
  }
  return page;
}

const system = useSystem({ DEMO_PORT: String(demoPort) });

describe('the demo page', () => {
  async function openBrowser(): Promise<FormBrowser> {
    const redirect = await fetch(`${system.auth}/social/google`, { redirect: 'manual' });
    return openFormBrowser([demo, system.auth, new URL(redirect.headers.get('location') as string).origin]);
  }

  test('each link signs a user in, and the commands at the redirect address get and refresh tokens', async () => {
    const { links } = await (await openBrowser()).open(demo);
    const flows = links.filter(({ href }) => /connect\/authorize|\/device|\/pushed/.test(href));
    for (const client of ['demo-web', 'demo-spa', 'demo-native', 'demo-range', 'demo-screen', 'demo-fapi'])
      expect(flows.filter(({ href }) => href.includes(`client_id=${client}`)).length).toBeGreaterThan(0);
    let refreshes = 0;
    for (const { href, text } of flows) {
      const browser = await openBrowser();
      let page = await browser.open(href);
      if (text === 'device') {
        const link = page.links.find((candidate) => candidate.text === 'Enter the code');
        await signIn(browser, await browser.open(link?.href as string));
      } else {
        const redirect = await signIn(browser, page);
        expect({ href, origin: redirect.url.origin }).toEqual({ href, origin: 'http://localhost:4010' });
        page = await openRedirect(browser, redirect);
        if (text.startsWith('implicit')) {
          expect(redirect.url.hash).toMatch(/[#&]access_token=/);
          continue;
        }
        expect(textOf(page.html)).toContain(redirect.url.searchParams.get('code'));
      }
      const [exchange, refresh] = commandsOf(page) as [string, string];
      const tokens = await run(exchange);
      expect({ href, tokens }).toEqual({ href, tokens: expect.objectContaining({ access_token: expect.any(String) }) });
      if (tokens.refresh_token && refresh.includes('REFRESH_TOKEN')) {
        const refreshed = await run(refresh.replace('REFRESH_TOKEN', String(tokens.refresh_token)));
        expect({ href, refreshed }).toMatchObject({ refreshed: { access_token: expect.any(String) } });
        refreshes += 1;
      }
    }
    expect(refreshes).toBeGreaterThan(2);
  });

  test('the commands of the other flows get tokens', async () => {
    const browser = await openBrowser();
    const commands = commandsOf(await browser.open(demo)).filter((command) => command.includes('grant_type='));
    for (const grant of ['client_credentials', 'password', 'social_access_token'])
      expect(commands.filter((command) => command.includes(grant)).length).toBeGreaterThan(0);
    for (const command of commands) {
      if (command.startsWith('TOKEN=')) expect(await run(command)).toHaveProperty('bayId');
      else
        expect({ command, tokens: await run(command) }).toMatchObject({ tokens: { access_token: expect.any(String) } });
    }
  });

  test('parameters are escaped, and what is not a code is not in a command', async () => {
    const browser = await openBrowser();
    const value = `<script>alert("1")</script>'; rm -rf ~ #`;
    const page = await browser.open(`${demo}/callback?${new URLSearchParams({ code: value, [value]: value })}`);
    expect(page.status).toBe(200);
    expect(page.html).not.toContain('<script>alert');
    expect(textOf(page.html)).toContain(value);
    expect(commandsOf(page).join()).not.toContain('rm -rf');
    expect(page.headers.get('content-security-policy')).toContain(`default-src 'none'`);
  });

  test('/mail shows the mails as text, with their links', async () => {
    const browser = await openBrowser();
    const form = await browser.open(`${system.auth}/register`);
    const name = 'Ada <b>Fairway</b>';
    await browser.send(form, { name, username: 'ada@fairway.example', password: 'seven unusual lamps' });
    const hasMail = async () => (await browser.open(`${demo}/mail`)).html.includes('To ada@fairway.example');
    await eventually(hasMail);
    const page = await browser.open(`${demo}/mail`);
    expect(page.html).not.toContain('<b>');
    const link = page.links.find(({ href }) => href.startsWith(`${system.auth}/`));
    expect((await browser.open(link?.href as string)).status).toBe(200);
  });

  test('a website whose name leads to this machine cannot read the pages', async () => {
    const status = await new Promise((resolve) => {
      const options = { port: demoPort, host: '127.0.0.1', path: '/mail', headers: { Host: 'attacker.example' } };
      request(options, ({ statusCode }) => resolve(statusCode)).end();
    });
    expect(status).toBe(421);
    expect((await fetch(`${demo}/other`)).status).toBe(404);
    expect((await fetch(demo, { method: 'POST' })).status).toBe(405);
  });

  test('the summary names the page, its mails and the social access tokens', async () => {
    const [address] = /http\S+\/google\/native-token\S*/.exec(system.output()) ?? [];
    expect(system.output()).toContain(` ${demo}\n`);
    expect(system.output()).toContain(` ${demo}/mail\n`);
    expect(await (await fetch(address as string)).json()).toMatchObject({ access_token: expect.any(String) });
  });
});

describeInChromium('the demo page in a browser', () => {
  test('a script shows the fragment, and the pages are accessible on a phone and a desktop', async () => {
    const browser = await launchChromium();
    const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage();
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    for (const path of ['/', '/mail', '/device?client_id=demo-screen', '/spa#access_token=abc.def&scope=%3Cb%3E']) {
      await page.goto(demo + path);
      for (const { width, scheme } of viewports) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: scheme });
        const result = { violations: await findViolations(page), overflows: await overflowsHorizontally(page) };
        expect({ path, width, ...result }).toEqual({ path, width, violations: [], overflows: false });
      }
    }
    expect(await page.locator('#parameters').innerText()).toBe('access_token\tabc.def\nscope\t<b>');
    expect(await page.locator('#token').innerText()).toContain(`Authorization: Bearer abc.def'`);
    expect(messages).toEqual([]);
    await browser.close();
  });
});
