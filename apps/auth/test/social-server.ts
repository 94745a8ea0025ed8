// Starts an authorization server together with stand-ins for its social providers.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSocialProviders } from '@bay-booking/social-stand-ins/providers';
import { startAuthServer } from './auth-server.ts';

/** Writes the settings of social providers to a file, and returns the environment variable that names the file. */
export function socialProvidersFile(settings: object): { readonly SOCIAL_PROVIDERS_FILE: string } {
  const file = join(mkdtempSync(join(tmpdir(), 'social-')), 'providers.json');
  writeFileSync(file, JSON.stringify(settings));
  return { SOCIAL_PROVIDERS_FILE: file };
}

/** `settings` are those of social providers in addition to the stand-ins. */
export async function startSocialServer(environment: Record<string, string> = {}, settings: object = {}) {
  const social = await startSocialProviders();
  const file = socialProvidersFile({ ...social.settings, ...settings });
  const server = await startAuthServer({ ...environment, ...file });
  const close = async (): Promise<void> => {
    await server.close();
    await social.stop();
  };
  return { ...server, social, close };
}
