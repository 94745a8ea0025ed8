// Runs the OpenID conformance plan "FAPI 2.0 Security Profile Final" with private_key_jwt and DPoP, as plain OAuth and
// with OpenID Connect. Each test has the name of a module of the OpenID conformance suite; docs/conformance.md lists
// the results.
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, test } from '@jest/globals';
import { authorizationModules } from './fapi2-authorization-modules.ts';
import { createFapi2Client, startFapi2System } from './fapi2-client.ts';
import { resourceModules, tokenModules } from './fapi2-token-modules.ts';

const system = useFixture(startFapi2System);

/** The suite runs these modules with OpenID Connect. With plain OAuth, it leaves out those in `openidOnly`. */
const modules = Object.entries({ ...authorizationModules, ...tokenModules });
const openidOnly: ReadonlySet<string> = new Set([
  'ensure-authorization-request-without-nonce-success',
  'ensure-authorization-request-with-64-char-nonce-success',
  'ensure-authorization-request-with-long-nonce',
  'ensure-different-nonce-inside-and-outside-request-object',
  'ensure-other-scope-order-succeeds',
  'test-claims-parameter-identity-claims',
]);

describe('fapi2-security-profile-final-test-plan (private_key_jwt, dpop, openid_connect)', () => {
  // `resourceModules` need a protected resource. With OpenID Connect, this is userinfo. With plain OAuth, auth has
  // none. The tests of the Bookings API cover protected resources (docs/conformance.md).
  test.each([...modules, ...Object.entries(resourceModules)])('fapi2-security-profile-final-%s', (_name, module) =>
    module(createFapi2Client(system, 'openid_connect')),
  );
});

describe('fapi2-security-profile-final-test-plan (private_key_jwt, dpop, plain_oauth)', () => {
  test.each(modules.filter(([name]) => !openidOnly.has(name)))('fapi2-security-profile-final-%s', (_name, module) =>
    module(createFapi2Client(system, 'plain_oauth')),
  );
});
