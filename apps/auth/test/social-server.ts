// Starts an authorization server together with stand-ins for its social providers.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SocialProviders, startSocialProviders } from '@bay-booking/testkit/social-providers';
import { type AuthServer, startAuthServer } from './auth-server.ts';

export interface SocialServer {
  readonly server: AuthServer;
  readonly social: SocialProviders;
  readonly close: () => Promise<void>;
}

/** @param startServer starts the authorization server with these environment variables */
export async function startSocialServer(
  startServer: (environment: Record<string, string>) => Promise<AuthServer> = startAuthServer,
): Promise<SocialServer> {
  const social = await startSocialProviders();
  const file = join(mkdtempSync(join(tmpdir(), 'social-')), 'providers.json');
  writeFileSync(file, JSON.stringify(social.settings));
  const server = await startServer({ SOCIAL_PROVIDERS_FILE: file });
  const close = async (): Promise<void> => {
    await server.close();
    await social.stop();
  };
  return { server, social, close };
}
