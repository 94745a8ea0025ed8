// Tests the pages where owners and staff see and revoke the tokens of the facility's service accounts.
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { patForm } from './auth-server.ts';
import { north, startPortal } from './portal-fixture.ts';

const portal = useFixture(startPortal);
const tokens = `${north}/tokens`;
const tokenOf = (client_id: string) => ({
  client_id,
  client_secret: 's',
  accountId: 'acc-bot',
  name: `Till ${client_id}`,
});
const requestToken = async (client_id: string) =>
  (await portal.server.post('/connect/token', { ...patForm, client_id, client_secret: 's' })).status;

test.each(['owner', 'staff'])('%s sees the tokens of the facility and revokes one', async (name) => {
  const id = `pat-${name}`;
  const other = { ...tokenOf('pat-south'), accountId: 'acc-south-bot', name: 'Till of the south' };
  await portal.server.load({ clients: [tokenOf(id), other] });
  expect(await requestToken(id)).toBe(200);
  const { browser, page } = await portal.signIn(name, tokens);
  expect(page.status).toBe(200);
  expect(page.html).toContain(`Till ${id}`);
  expect(page.html).not.toContain('Till of the south');
  expect((await browser.open(portal.at(`${tokens}/pat-south/revoke`))).status).toBe(404);
  const confirmation = await browser.open(portal.at(`${tokens}/${id}/revoke`));
  const done = await browser.send(confirmation, {}, 'Revoke the token');
  expect(done.html).toContain('The token was revoked');
  expect(done.html).not.toContain(`Till ${id}`);
  expect(await requestToken(id)).toBe(401);
  const history = await browser.open(portal.at(`${north}/history`));
  expect(history.html).toContain(`revoked the personal access token “Till ${id}”`);
});

test.each(['southerner', 'bot', 'nobody'])('%s sees no tokens of the facility', async (name) => {
  const { page } = await portal.signIn(name, tokens);
  expect(page.status).toBe(404);
});
