// Tests the pages where owners and staff see and revoke the tokens of the facility's service accounts.
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { patForm } from './auth-server.ts';
import { accountOf, facilitiesOf, north, startPortal } from './portal-fixture.ts';

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

test.each([
  ['the named', { facilities: ['fac-north', 'fac-south'] }],
  ['all', {}],
])(
  'a token of %s facilities loses the one where it is revoked, and the other one sees nobody',
  async (_name, named) => {
    const roles = { 'fac-north': 'bookings-manager', 'fac-south': 'bookings-manager' } as const;
    await portal.addAccounts(accountOf('both-bot', roles, { kind: 'service' }));
    const token = {
      client_id: 'pat-both',
      client_secret: 's',
      accountId: 'acc-both-bot',
      name: 'Till',
      disabled: false,
    };
    await portal.server.load({ clients: [{ ...token, ...named }] });
    const revokeAt = async (name: string, path: string, button: string) => {
      const { browser } = await portal.signIn(name, path);
      const confirmation = await browser.open(portal.at(`${path}/tokens/pat-both/revoke`));
      return { confirmation, done: await browser.send(confirmation, {}, button) };
    };
    const { confirmation, done } = await revokeAt('owner', north, 'Revoke the token for North Range');
    expect(confirmation.html).toContain('The token stays valid at its other facilities.');
    expect(done.html).toContain('stays valid at its others');
    expect(done.html).not.toContain('pat-both');
    const response = await portal.requestToken('pat-both', 's');
    expect(facilitiesOf(response)).toEqual(['fac-south']);

    const south = '/portal/facilities/fac-south';
    await revokeAt('southerner', south, 'Revoke the token');
    expect(await requestToken('pat-both')).toBe(401);
    const historyAt = async (name: string, path: string) => (await portal.signIn(name, `${path}/history`)).page.html;
    expect(await historyAt('owner', north)).toContain('revoked the personal access token “Till” for this facility');
    for (const [name, path, foreign] of [
      ['owner', north, 'southerner'],
      ['southerner', south, 'owner'],
    ] as const) {
      expect(await historyAt(name, path)).not.toContain(`Name of ${foreign}`);
    }
    await portal.server.load({ accounts: [accountOf('both-bot', {}, { kind: 'service' })] });
    await portal.server.db.raw("delete from client where id = 'pat-both'");
  },
);

test.each(['southerner', 'bot', 'nobody'])('%s sees no tokens of the facility', async (name) => {
  const { page } = await portal.signIn(name, tokens);
  expect(page.status).toBe(404);
});
