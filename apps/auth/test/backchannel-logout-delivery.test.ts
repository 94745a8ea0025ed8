// Tests how logout tokens are delivered: once, without delaying the user, and to allowed addresses only
// (docs/behaviour-auth.md, "Back-channel logout").
import type { ServerResponse } from 'node:http';
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import type { ImportedClient } from '../src/oidc/clients/rules.ts';
import { eventually, startAuthServer } from './auth-server.ts';
import { authorizeUrl, redirectParameters, signInAndConsent } from './flows.ts';
import { appRedirectUri, logoutClient, startLogoutReceiver } from './logout-receiver.ts';
import { registerUser } from './test-users.ts';

const fixture = useFixture(async () => {
  const receiver = await startLogoutReceiver();
  // The receiver has a loopback address. By default, such an address is not allowed.
  const server = await startAuthServer({ OUTBOUND_ALLOW_NETWORKS: '127.0.0.0/8' });
  const close = async (): Promise<void> => {
    await server.close();
    await receiver.close();
  };
  return { server, receiver, close };
});

/** Signs in to a client in a browser that already has a session. */
async function openClient(browser: FormBrowser, clientId: string): Promise<void> {
  const request = { response_type: 'code', client_id: clientId, redirect_uri: appRedirectUri, scope: 'openid' };
  const page = await browser.open(authorizeUrl(fixture.server, request));
  expect(redirectParameters(await signInAndConsent(browser, page)).code).toBeDefined();
}

/**
 * Imports the clients, registers a user, and signs the user in to all clients in one browser. `sub` is the id of the
 * account.
 */
async function signInTo(...clients: readonly ImportedClient[]) {
  const { server } = fixture;
  await server.load({ clients: [...clients] });
  const user = await registerUser(server);
  for (const { client_id } of clients) await openClient(user.browser, client_id);
  const [row] = await server.db('account').where({ username: user.username }).select('id');
  return { ...user, sub: String(row.id) };
}

const eventsOf = (clientId: string) =>
  fixture.server
    .db('audit_event')
    .where({ client_id: clientId })
    .whereLike('kind', 'logout-token.%')
    .orderBy('id')
    .select('kind', 'detail', 'account_id');

/**
 * Signs the user out at the instance with this origin. `browser` sends requests only to the first instance, so this
 * function sends the request itself.
 */
async function signOutAt(origin: string, { account, browser }: Awaited<ReturnType<typeof signInTo>>): Promise<void> {
  const form = account.forms.find(({ action }) => action.endsWith('/sign-out'));
  const csrf = form?.fields.find(({ name }) => name === 'csrf')?.value ?? '';
  const response = await fetch(`${origin}/sign-out`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: browser.cookies().join('; ') },
    body: new URLSearchParams({ csrf }),
  });
  expect(response.headers.get('location')).toBe('/signed-out');
}

const signOut = ({ browser, account }: Awaited<ReturnType<typeof signInTo>>) => browser.send(account, {}, 'Sign out');

describe('the delivery of a logout token', () => {
  test('a delivery is recorded in the audit trail, the log and the metrics', async () => {
    const { server, receiver } = fixture;
    const user = await signInTo(logoutClient('recorded', `${receiver.url}/recorded?key=in-the-address`));
    await signOut(user);
    await server.auth.waitUntilIdle();
    // The client `recorded` got one token. The text `-` means that the token has no session id.
    expect(receiver.logoutsOf(user.sub)).toEqual(['recorded -']);
    const sent = { kind: 'logout-token.sent', detail: { outcome: 'sent' } };
    expect(await eventsOf('recorded')).toEqual([{ ...sent, account_id: user.sub }]);
    const lines = server.log.map((line) => JSON.parse(line)).filter(({ audit }) => audit?.clientId === 'recorded');
    expect(lines.map(({ audit }) => audit)).toContainEqual(
      expect.objectContaining({ kind: 'logout-token.sent', accountId: user.sub }),
    );
    expect(server.log.join('\n')).not.toContain('in-the-address');
    const metrics = await (await fetch(`${server.origin}/metrics`)).text();
    expect(metrics).toMatch(/auth_outbox_total\{kind="logout-token",result="sent",service="auth"\} \d/);
    // A counter that begins at 0 shows Prometheus its first increase.
    expect(metrics).toMatch(/auth_outbox_total\{kind="logout-token",result="timeout",service="auth"\} 0/);
  });

  test('each token is sent once, although several instances run', async () => {
    const { server, receiver } = fixture;
    const otherInstances = [await server.startInstance(), await server.startInstance()];
    const user = await signInTo(logoutClient('several', `${receiver.url}/several`));
    // When an account is disabled, its sessions end.
    await server.load({ accounts: [{ id: user.sub, username: user.username, disabled: true }] });
    await eventually(async () => receiver.logoutsOf(user.sub).length > 0);
    for (const { auth } of [server, ...otherInstances]) await auth.waitUntilIdle();
    expect(receiver.logoutsOf(user.sub)).toEqual(['several -']);
    expect(await server.db('outbox').select()).toEqual([]);
    for (const otherInstance of otherInstances) await otherInstance.close();
  });

  test('an instance sends its tokens before it stops', async () => {
    const { server } = fixture;
    const otherInstance = await server.startInstance();
    const { promise: requestArrived, resolve: onRequest } = Promise.withResolvers<ServerResponse>();
    const slow = await startLogoutReceiver(onRequest);
    const user = await signInTo(logoutClient('stopping', slow.url));
    await signOutAt(otherInstance.origin, user);
    const response = await requestArrived;
    const closed = otherInstance.close();
    response.end();
    await closed;
    expect(await eventsOf('stopping')).toMatchObject([{ kind: 'logout-token.sent' }]);
    await slow.close();
  });

  // The delivery to the client `silent` ends with a timeout after 2.5 s. The sign-out and the delivery to the client
  // `quick` must end before that.
  test('a client that does not respond does not delay the user or other clients', async () => {
    const { server, receiver } = fixture;
    const silent = await startLogoutReceiver(() => {});
    const user = await signInTo(
      logoutClient('silent', `${silent.url}/logout`),
      logoutClient('quick', `${receiver.url}/quick`),
    );
    const start = performance.now();
    expect((await signOut(user)).url.pathname).toBe('/signed-out');
    await eventually(async () => receiver.logoutsOf(user.sub).length > 0);
    expect(await eventsOf('silent')).toEqual([]);
    await server.auth.waitUntilIdle();
    expect(performance.now() - start).toBeGreaterThan(2_400);
    expect(silent.logoutsOf(user.sub)).toEqual(['silent -']);
    expect(await eventsOf('silent')).toMatchObject([{ kind: 'logout-token.failed', detail: { outcome: 'timeout' } }]);
    await silent.close();
  });

  test('the body of the response is not read to its end', async () => {
    const { server } = fixture;
    // This client begins a long body and never ends it.
    const talkative = await startLogoutReceiver((response) => {
      response.writeHead(200).write('x'.repeat(200_000));
    });
    const user = await signInTo(logoutClient('talkative', `${talkative.url}/logout`));
    await signOut(user);
    await server.auth.waitUntilIdle();
    // A delivery that reads the body would end with a timeout, and with the event `logout-token.failed`.
    expect(await eventsOf('talkative')).toMatchObject([{ kind: 'logout-token.sent' }]);
    await talkative.close();
  });

  test.each([204, 200])('a response with status %i is a success', async (status) => {
    const app = await startLogoutReceiver((response) => response.writeHead(status).end());
    const user = await signInTo(logoutClient(`status-${status}`, app.url));
    await signOut(user);
    await fixture.server.auth.waitUntilIdle();
    expect(await eventsOf(`status-${status}`)).toMatchObject([{ detail: { outcome: 'sent' } }]);
    await app.close();
  });

  test.each([400, 500, 501])(
    'a response with status %i is a failure, and the token is not sent again',
    async (status) => {
      const app = await startLogoutReceiver((response) => response.writeHead(status).end());
      const user = await signInTo(logoutClient(`status-${status}`, app.url));
      await signOut(user);
      await fixture.server.auth.waitUntilIdle();
      const failed = { kind: 'logout-token.failed', detail: { outcome: 'rejected', status } };
      expect(await eventsOf(`status-${status}`)).toMatchObject([failed]);
      expect(app.received).toHaveLength(1);
      await app.close();
    },
  );

  test('the user is signed out even if the connection to the client fails', async () => {
    const closed = await startLogoutReceiver();
    await closed.close();
    const user = await signInTo(logoutClient('nobody', closed.url));
    expect((await signOut(user)).url.pathname).toBe('/signed-out');
    await fixture.server.auth.waitUntilIdle();
    expect(await eventsOf('nobody')).toMatchObject([{ detail: { outcome: 'failed', reason: 'ECONNREFUSED' } }]);
  });

  test('a client that was deleted or disabled in the meantime gets no token', async () => {
    const { server, receiver } = fixture;
    const user = await signInTo(
      logoutClient('deleted', `${receiver.url}/deleted`),
      logoutClient('disabled', `${receiver.url}/disabled`),
      logoutClient('remaining', `${receiver.url}/remaining`),
    );
    await server.db('client').where({ id: 'deleted' }).delete();
    await server.db('client').where({ id: 'disabled' }).update({ disabled_at: new Date() });
    expect((await signOut(user)).url.pathname).toBe('/signed-out');
    await server.auth.waitUntilIdle();
    expect(receiver.logoutsOf(user.sub)).toEqual(['remaining -']);
    expect(await eventsOf('disabled')).toMatchObject([{ detail: { outcome: 'not_registered' } }]);
  });

  test('a logout token is not sent if its session ended more than an hour ago', async () => {
    const { server, receiver } = fixture;
    const user = await signInTo(logoutClient('late', `${receiver.url}/late`));
    const moreThanAnHourAgo = new Date(Date.now() - 3_700_000);
    await server.db('outbox').insert({
      kind: 'logout-token',
      target: 'late',
      account_id: user.sub,
      payload: {},
      created_at: moreThanAnHourAgo,
    });
    const events = await eventually(async () => {
      await server.auth.waitUntilIdle();
      const found = await eventsOf('late');
      return found.length > 0 && found;
    });
    expect(events).toMatchObject([{ kind: 'logout-token.failed', detail: { outcome: 'expired' } }]);
    expect(receiver.logoutsOf(user.sub)).toEqual([]);
  });

  test('300 tokens for a client that does not respond do not delay the token for another client', async () => {
    const { server, receiver } = fixture;
    const silent = await startLogoutReceiver(() => {});
    await server.load({
      clients: [logoutClient('stuck', silent.url), logoutClient('other', `${receiver.url}/other`)],
    });
    const rows = Array.from({ length: 300 }, (_, index) => ({
      kind: 'logout-token',
      target: 'stuck',
      account_id: `nobody-${index}`,
      payload: {},
    }));
    const start = performance.now();
    await server.db('outbox').insert([...rows, { ...rows[0], target: 'other', account_id: 'waiting-user' }]);
    // The deliveries to the client that does not respond would take 75 s.
    await eventually(async () => receiver.logoutsOf('waiting-user').length > 0);
    // While 10 deliveries to one client are in progress, no other delivery to it begins. Each one takes 2.5 s.
    const groups = Math.floor((performance.now() - start) / 2_500) + 1;
    expect(silent.received.length).toBeLessThanOrEqual(10 * groups);
    await server.db('outbox').where({ target: 'stuck' }).delete();
    await silent.close();
  });
});

describe('the addresses of clients', () => {
  test('no request is sent to an address inside the network, given as an IP address or as a host name', async () => {
    const { server, receiver } = fixture;
    const connections = receiver.connections();
    // The clients are imported at `server`, which allows loopback addresses. `strict` does not allow such addresses.
    const strict = await server.startInstance({ OUTBOUND_ALLOW_NETWORKS: '' });
    const user = await signInTo(
      logoutClient('literal', `http://127.0.0.1:${receiver.port}/`),
      logoutClient('literal-https', `https://127.0.0.1:${receiver.port}/`),
      logoutClient('name', `https://localhost:${receiver.port}/`),
    );
    await signOutAt(strict.origin, user);
    await strict.auth.waitUntilIdle();
    for (const clientId of ['literal', 'literal-https', 'name']) {
      expect(await eventsOf(clientId)).toMatchObject([{ detail: { outcome: 'address_not_allowed' } }]);
    }
    expect(receiver.connections()).toBe(connections);
    await strict.close();
  });

  test('a redirect is a failure, and the service does not follow it', async () => {
    const { server, receiver } = fixture;
    const connections = receiver.connections();
    const app = await startLogoutReceiver((response) =>
      response.writeHead(307, { Location: `${receiver.url}/inside` }).end(),
    );
    const user = await signInTo(logoutClient('redirects', app.url));
    await signOut(user);
    await server.auth.waitUntilIdle();
    expect(await eventsOf('redirects')).toMatchObject([{ detail: { outcome: 'rejected', status: 307 } }]);
    expect(receiver.connections()).toBe(connections);
    await app.close();
  });
});
