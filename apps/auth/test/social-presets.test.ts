// Tests that the presets for Microsoft, Apple and GitHub need only credentials to sign users in.
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { type AuthServer, scopes, serverGlobals, startAuthServer, statusAndBody } from './auth-server.ts';
import { createPublicProviders, type PublicProviders } from './public-providers.ts';
import { socialProvidersFile } from './social-server.ts';

const clientId = 'com.example.bay-booking';
const clientSecret = 'public-provider-secret';
/** The id of the user Ada at each of the simulated providers. */
const adaId = '100001';

const originalFetch = serverGlobals.fetch;
let providers: PublicProviders;
let server: AuthServer;
beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  providers = await createPublicProviders({ clientId, clientSecret, applePublicKey: publicKey });
  // The server of the test runs in this process, so its requests reach the simulated providers.
  serverGlobals.fetch = providers.fetch;
  // The client secret of Apple is a JWT that the developer signs. It contains the ids of the developer's team and key.
  const appleSecret = await new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: 'KEY1234567' })
    .setIssuer('TEAM123456')
    .setSubject(clientId)
    .setAudience('https://appleid.apple.com')
    .setIssuedAt()
    .setExpirationTime('180d')
    .sign(privateKey);
  server = await startAuthServer(
    socialProvidersFile({
      microsoft: { clientId, clientSecret },
      apple: { clientId, clientSecret: appleSecret },
      github: { clientId, clientSecret },
    }),
  );
});
afterAll(async () => {
  serverGlobals.fetch = originalFetch;
  await server.close();
});

const names = ['microsoft', 'apple', 'github'] as const;
const beginSignIn = async (name: string) => {
  const visitor = openFormBrowser([server.origin]);
  // The server redirects the visitor to the authorization endpoint of the provider.
  const { url } = await visitor.open(`${server.origin}/social/${name}?return=/account`);
  return { visitor, authorizationUrl: url };
};
const findAccount = async (name: string) => {
  const [row] = await server
    .db('social_identity')
    .join('account', 'account.id', 'account_id')
    .where({ provider: name, subject: adaId })
    .select('account.name', 'account.email', 'account.email_verified');
  return row;
};

describe.each(names)('%s', (name) => {
  test(`the preset ${name} signs a user in twice, and stores the name and the e-mail address that the provider sends`, async () => {
    for (let round = 1; round <= 2; round++) {
      const { visitor, authorizationUrl } = await beginSignIn(name);
      const page = await visitor.open(providers.signIn(authorizationUrl, adaId));
      expect(page.url.href).toBe(`${server.origin}/account`);
    }
    // The simulated providers send the claims that the real ones send to these presets. The preset for Apple requests
    // only the scope `openid`, so Apple sends neither name nor address. Microsoft sends no `email_verified`, and GitHub
    // sends no address if the user keeps it private.
    expect(await findAccount(name)).toEqual(
      {
        microsoft: { name: 'Ada Fairway', email: 'ada@social.example', email_verified: false },
        apple: { name: null, email: null, email_verified: false },
        github: { name: 'Ada Fairway', email: null, email_verified: false },
      }[name],
    );
  });

  test(`the preset ${name} redirects a user who cancels to the sign-in page`, async () => {
    const { visitor, authorizationUrl } = await beginSignIn(name);
    // `undefined` instead of a user id stands for a user who cancels.
    const page = await visitor.open(providers.signIn(authorizationUrl, undefined));
    expect(page.url.pathname).toBe('/sign-in');
    expect(page.html).toContain('You cancelled signing in with');
  });

  test(`the preset ${name} shows an error page if the provider does not accept the code`, async () => {
    const { visitor, authorizationUrl } = await beginSignIn(name);
    const callback = providers.signIn(authorizationUrl, adaId);
    callback.searchParams.set('code', 'made-up');
    const page = await visitor.open(callback);
    expect(page.status).toBe(502);
    expect(page.title).toMatch(/did not work/);
  });

  test(`the preset ${name} does not support the sign-in with a token from a native app`, async () => {
    const form = { grant_type: 'social_access_token', client_id: 'demo-native', scope: scopes.play };
    const response = await server.post('/connect/token', { ...form, token: 'made-up', provider: name });
    expect(await statusAndBody(response)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });
});

test('the sign-in page offers the providers by the names that users know', async () => {
  const page = await openFormBrowser([server.origin]).open(`${server.origin}/sign-in`);
  for (const title of ['Microsoft', 'Apple', 'GitHub']) {
    expect(page.links.map(({ text }) => text)).toContainEqual(expect.stringContaining(`Continue with ${title}`));
  }
});
