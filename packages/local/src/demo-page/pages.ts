// Builds the demo pages: flows, redirect URIs, device flow and e-mails.
import type { Mail } from '../children.ts';
import type { Client } from '../demo.ts';
import { clientsAt, type Demo, signInLinks } from './clients.ts';
import { command, Html, html, page, scriptElement } from './html.ts';
import { commandsOf, exchangeCode, listLocations, pollDevice, postForm, refresh } from './requests.ts';

export function flowsPage(demo: Demo): string {
  const users = demo.accounts.map(({ username, password }) => html`<tr><th scope="row">${username}<td>${password}`);
  const links = demo.clients
    .map((client) => ({ client, links: signInLinks(demo, client) }))
    .filter(({ links }) => links.length > 0)
    .map(
      ({ client, links }) => html`<h3>${client.client_id}${client.client_secret && ` / ${client.client_secret}`}</h3>
<ul aria-label="${client.client_id}">${links.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}</ul>`,
    );
  const commands = demo.clients
    .flatMap((client) => commandsOf(demo, client))
    .map(({ title, text }) => html`<h3>${title}</h3>${command(text)}`);
  return page(
    'Flows',
    html`
<section><h2>Sign in with a browser</h2>
<p>Each link starts a flow as a demo client does. Auth then redirects the browser to port 4010, where this page shows
what the client gets.</p>${links}</section>
<section><h2>Accounts</h2><table><tr><th scope="col">User name<th scope="col">Password${users}</table>
<p>Members of a facility use the <a href="${demo.auth}/portal">portal</a> and the <a
href="${demo.bookings}/day">day sheet</a>.</p></section>
<section><h2>Get a token without a browser</h2>${commands}</section>
<section><h2>Book a bay</h2>${command(demo.booking)}
<p>The <a href="${demo.bookings}/docs">API reference</a> has the other requests.</p></section>`,
  );
}

/** Users paste commands into a shell, so only a code of this form becomes part of a command. */
const codePattern = /^[\w.~-]+$/;

/** Shows the parameters that a client gets at its redirect URI. */
export function redirectPage(demo: Demo, path: string, query: URLSearchParams): string {
  const clients = clientsAt(demo, path);
  const client = clients.find(({ client_id: id }) => id === query.get('state')) ?? clients[0];
  const rows = [...query].map(([name, value]) => html`<tr><th scope="row">${name}<td>${value}`);
  return page(
    `Redirect to ${path}`,
    html`
<section><h2>Parameters</h2><table id="parameters">${rows}</table>
<p id="nothing" class="muted"${rows.length > 0 && new Html(' hidden')}>The address has no parameters.</p>
<p class="muted">The links of this page send the id of the client as <code>state</code>. Applications send a random
value, and compare it.</p></section>
${client && codePattern.test(query.get('code') ?? '') && codeSection(demo, client, path, query.get('code') as string)}
<section id="token" hidden><h2>Use the access token</h2>${command(listLocations(demo, 'ACCESS_TOKEN'))}</section>
${scriptElement}`,
  );
}

function codeSection(demo: Demo, client: Client, path: string, code: string): Html {
  const redirectUri = client.redirect_uris.find((uri) => uri.endsWith(`:4010${path}`)) as string;
  return html`
<section><h2>Exchange the code</h2><p>The code of <code>${client.client_id}</code> is valid for 60 s, once:</p>
${command(exchangeCode(demo, client, code, redirectUri))}
${refreshPart(demo, client)}</section>`;
}

const refreshPart = (demo: Demo, client: Client) =>
  client.grant_types.includes('refresh_token') &&
  !client.profile &&
  html`<p>Later, with the <code>refresh_token</code> of the response, which works once:</p>${command(refresh(demo, client))}`;

export const signedOutPage = (): string => page('Signed out', html`<p>The user is signed out.</p>`);

export async function devicePage(demo: Demo, client: Client): Promise<string> {
  const { client_id, scope } = client;
  const url = `${demo.auth}/connect/deviceauthorization`;
  const device = await postForm<Record<'device_code' | 'user_code' | 'verification_uri_complete', string>>(
    url,
    new URLSearchParams({ client_id, scope }),
  );
  return page(
    'Device sign-in',
    html`
<section><h2>What the screen shows</h2><p class="code">${device.user_code}</p>
<p><a href="${device.verification_uri_complete}" target="_blank" rel="noopener">Enter the code</a>, as the user does on
a phone.</p></section>
<section><h2>What the screen sends</h2><p>Every 5 seconds, until the user decides:</p>
${command(pollDevice(demo, client, device.device_code))}
${refreshPart(demo, client)}</section>`,
  );
}

export function mailPage(demo: Demo, mails: readonly KeptMail[]): string {
  const sections = mails.map(
    ({ at, to, subject, text }) => html`
<section><h2>${subject}</h2><p class="muted">To ${to}, ${at.toISOString()}</p>
<pre class="text" tabindex="0">${linkedText(text, demo.auth)}</pre></section>`,
  );
  return page('Mail', sections.length > 0 ? sections : html`<p>No mails since the start.</p>`);
}

/** Returns an e-mail's content. Only URLs of auth become links. */
const linkedText = (text: string, auth: string): readonly (Html | string)[] =>
  text
    .split(/(https?:\/\/[^\s<>"']+)/)
    .map((part) => (part.startsWith(`${auth}/`) ? html`<a href="${part}">${part}</a>` : part));

export const errorPage = (title: string, text: string): string => page(title, html`<p>${text}</p>`);

export type KeptMail = Mail & { readonly at: Date };

const maxMails = 50;

export type Mails = ReturnType<typeof createMails>;

/** Keeps the last e-mails of auth in memory. */
export function createMails() {
  let mails: readonly KeptMail[] = [];
  return {
    add: (mail: Mail): void => {
      mails = [{ ...mail, at: new Date() }, ...mails].slice(0, maxMails);
    },
    list: () => mails,
  };
}
