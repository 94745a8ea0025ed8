// Starts an authorization server together with stand-ins for its social providers.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SocialStandIns, startSocialProviders } from '@bay-booking/social-stand-ins/providers';
import { type AuthServer, startAuthServer } from './auth-server.ts';

export interface SocialServer extends AuthServer {
  readonly social: SocialStandIns;
}

/** Writes the settings of social providers to a file, and returns the environment variable that names the file. */
export function socialProvidersFile(settings: object): { readonly SOCIAL_PROVIDERS_FILE: string } {
  const file = join(mkdtempSync(join(tmpdir(), 'social-')), 'providers.json');
  writeFileSync(file, JSON.stringify(settings));
  return { SOCIAL_PROVIDERS_FILE: file };
}

/**
 * @param startServer starts the authorization server. Its argument contains SOCIAL_PROVIDERS_FILE.
 * @param settings the settings of social providers in addition to those of the stand-ins, or instead of them
 */
export async function startSocialServer(
  startServer: (environment: Record<string, string>) => Promise<AuthServer> = startAuthServer,
  settings: object = {},
): Promise<SocialServer> {
  const social = await startSocialProviders();
  const server = await startServer(socialProvidersFile({ ...social.settings, ...settings }));
  const close = async (): Promise<void> => {
    await server.close();
    await social.stop();
  };
  return { ...server, social, close };
}
