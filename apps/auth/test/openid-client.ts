// Configures the library openid-client for a client of a test server.
import * as openid from 'openid-client';
import type { AuthServer } from './auth-server.ts';

/** Reads the discovery document. Test servers use http, so the library must accept http. */
export const configureOpenidClient = (
  server: AuthServer,
  clientId: string,
  authentication: openid.ClientAuth,
): Promise<openid.Configuration> =>
  openid.discovery(new URL(server.origin), clientId, undefined, authentication, {
    execute: [openid.allowInsecureRequests],
  });
