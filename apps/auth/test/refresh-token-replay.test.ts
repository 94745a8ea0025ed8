// Tests a second use of a refresh token at two instances. It is rejected, and revokes the grant unless the first use
// was less than a second ago (RFC 9700 section 4.14.2; docs/behaviour-auth.md, "Codes, refresh tokens and replay").
import { useFixture } from '@bay-booking/testkit/fixture';
import { clients } from '@bay-booking/testkit/rounds';
import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { passSecondAfterUse, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const newRefreshToken = async (): Promise<string> => {
  const credentials = { username: 'player@example.com', password: 'demo-player-pass' };
  const form = { grant_type: 'password', client_id: 'demo-native', scope: `offline_access ${scopes.play}` };
  return String((await statusAndBody(await server.post('/connect/token', { ...form, ...credentials }))).refresh_token);
};
const refreshAt = async (origin: string, token: unknown) => {
  const form = { grant_type: 'refresh_token', refresh_token: String(token), client_id: 'demo-native' };
  return statusAndBody(await fetch(`${origin}/connect/token`, { method: 'POST', body: new URLSearchParams(form) }));
};
const rejected = { status: 400, error: 'invalid_grant' };

test('a second use within a second is rejected at every instance, and revokes nothing', async () => {
  const other = await server.startInstance();
  for (const origin of [server.origin, other.origin]) {
    const token = await newRefreshToken();
    const { refresh_token: successor } = await refreshAt(server.origin, token);
    expect(await refreshAt(origin, token)).toMatchObject(rejected);
    expect(await refreshAt(origin, successor)).toMatchObject({ status: 200 });
  }
});

test('a second use 1.1 s later is rejected at every instance, and revokes every token of the grant', async () => {
  const other = await server.startInstance();
  for (const origin of [server.origin, other.origin]) {
    const token = await newRefreshToken();
    const { access_token: accessToken, refresh_token: successor } = await refreshAt(server.origin, token);
    await passSecondAfterUse(server.db);
    expect(await refreshAt(origin, token)).toMatchObject(rejected);
    expect(await refreshAt(origin, successor)).toMatchObject(rejected);
    const grantId = decodeJwt(String(accessToken)).grant_id;
    expect(await server.db('oidc_artifact').where({ grant_id: grantId as string })).toEqual([]);
  }
});

test('of simultaneous uses at two instances exactly one succeeds, and its refresh token works', async () => {
  const other = await server.startInstance();
  for (let round = 0; round < 5; round += 1) {
    const token = await newRefreshToken();
    const responses = await Promise.all(
      Array.from({ length: clients(32) }, (_, index) =>
        refreshAt(index % 2 === 0 ? server.origin : other.origin, token),
      ),
    );
    const winners = responses.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(await refreshAt(other.origin, winners[0]?.refresh_token)).toMatchObject({ status: 200 });
  }
});
