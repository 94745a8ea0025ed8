// Runs the OpenID conformance plan "back-channel logout" (OpenID Connect Back-Channel Logout 1.0). Each test has the
// name of a module of the OpenID conformance suite; docs/conformance.md lists the results.
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { type ReceivedLogout, startLogoutReceiver, validateLogoutToken } from '../logout-receiver.ts';
import {
  codeClient,
  createRelyingParty,
  postLogoutRedirectUri,
  redirectUri,
  startForRelyingParty,
} from './relying-party.ts';

const fixture = useFixture(async () => {
  // OpenID Connect Back-Channel Logout 1.0 section 2.8 recommends that the response to a logout token has the header
  // Cache-Control: no-store.
  const receiver = await startLogoutReceiver((response) => response.setHeader('Cache-Control', 'no-store').end());
  const server = await startForRelyingParty({ OUTBOUND_ALLOW_NETWORKS: '127.0.0.0/8' });
  const client = {
    client_id: codeClient.id,
    client_secret: codeClient.secret,
    redirect_uris: [redirectUri],
    post_logout_redirect_uris: [postLogoutRedirectUri],
    response_types: ['code'],
    scope: 'openid',
    backchannel_logout_uri: `${receiver.url}/backchannel_logout`,
    backchannel_logout_session_required: true,
  };
  // Replaces the settings of this client, which startForRelyingParty has registered.
  await server.load({ clients: [client] });
  const close = async (): Promise<void> => {
    await server.close();
    await receiver.close();
  };
  return { server, receiver, close };
});

describe('oidcc-backchannel-rp-initiated-logout-certification-test-plan', () => {
  test('oidcc-backchannel-logout-discovery-endpoint-verification', async () => {
    const response = await fetch(`${fixture.server.origin}/.well-known/openid-configuration`);
    expect(await response.json()).toMatchObject({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      end_session_endpoint: `${fixture.server.origin}/connect/endsession`,
    });
  });

  test('oidcc-backchannel-rp-initiated-logout', async () => {
    const { server, receiver } = fixture;
    const rp = createRelyingParty(server, { responseType: 'code' });
    const browser = rp.newBrowser();
    const { claims, idToken } = await rp.expectTokens(await rp.authorize({}, { browser }));
    expect(claims.sid).toEqual(expect.any(String));
    const params = { id_token_hint: idToken, post_logout_redirect_uri: postLogoutRedirectUri, state: 'the-state' };
    const confirmation = await browser.open(`${server.origin}/connect/endsession?${new URLSearchParams(params)}`);
    const back = await browser.send(confirmation, {}, 'Sign out');
    expect(back.url.href).toBe(`${postLogoutRedirectUri}?state=the-state`);
    await server.auth.waitUntilIdle();
    expect(receiver.received).toHaveLength(1);
    const validation = { issuer: server.origin, clientId: codeClient.id };
    const token = await validateLogoutToken(receiver.received[0] as ReceivedLogout, validation);
    expect(token).toMatchObject({ sub: claims.sub, sid: claims.sid });
    rp.expectError(await rp.authorize({ prompt: 'none' }, { browser }), 'login_required');
  });
});
