// Defines the import document of the test server. It contains those accounts and clients of the demo that the tests
// need, with the same ids and credentials (docs/behaviour.md, "The demo"). Other fields can differ from the demo: for
// example, demo-spa may use refresh tokens and the response type `id_token` here.

import type { ScopeTable } from '../src/oidc/scopes.ts';
import type { ImportDocument } from './import-document.ts';

export function demoDocument(scopes: ScopeTable): ImportDocument {
  const everyScope = scopes.all.join(' ');
  return {
    facilities: [
      { id: 'fac-north', name: 'North Range' },
      { id: 'fac-south', name: 'South Range' },
    ],
    accounts: [
      {
        id: 'acc-owner-north',
        username: 'owner@north.example',
        password: 'demo-owner-pass',
        name: 'Olivia North',
        email: 'owner@north.example',
        emailVerified: true,
        roles: ['range-owner'],
        memberships: [{ facilityId: 'fac-north', role: 'owner' }],
      },
      {
        id: 'acc-player',
        username: 'player@example.com',
        password: 'demo-player-pass',
        name: 'Pat Player',
        email: 'player@example.com',
        emailVerified: true,
        roles: ['player'],
      },
      {
        id: 'acc-bot-north',
        username: 'bot@north.example',
        password: 'demo-bot-pass',
        kind: 'service',
        memberships: [{ facilityId: 'fac-north', role: 'bookings-manager' }],
      },
    ],
    clients: [
      // A client with `accountId` is a personal access token of this service account.
      { client_id: 'demo-pat-north', client_secret: 'demo-pat-north-secret', accountId: 'acc-bot-north', name: 'Demo' },
      {
        client_id: 'demo-web',
        client_secret: 'demo-web-secret',
        client_name: 'Demo web',
        redirect_uris: ['http://localhost:4010/callback'],
        post_logout_redirect_uris: ['http://localhost:4010/signed-out'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: everyScope,
      },
      {
        client_id: 'demo-spa',
        client_name: 'Demo single-page app',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['http://localhost:4010/spa'],
        grant_types: ['authorization_code', 'implicit', 'refresh_token'],
        response_types: ['code', 'token', 'id_token', 'id_token token'],
        scope: everyScope,
      },
      {
        client_id: 'demo-native',
        client_name: 'Demo native app',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        pkce: 'optional',
        redirect_uris: ['com.example.demo:/callback', 'http://127.0.0.1/callback', 'http://localhost:4010/native'],
        grant_types: ['authorization_code', 'refresh_token', 'password', 'social_access_token'],
        response_types: ['code'],
        scope: everyScope,
      },
      {
        client_id: 'demo-range',
        client_secret: 'demo-range-secret',
        client_name: 'Demo range',
        kind: 'driving-range',
        redirect_uris: ['http://localhost:4010/range'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: `openid profile roles email offline_access ${scopes.play}`,
      },
      {
        client_id: 'demo-screen',
        client_name: 'Demo screen',
        kind: 'driving-range',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        scope: `openid profile roles email offline_access ${scopes.play}`,
      },
    ],
  };
}
