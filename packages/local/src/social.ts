// Provides the social providers of auth: those of SOCIAL_PROVIDERS_FILE, else, in the demo, two stand-ins named
// `google` and `facebook`.
import { join } from 'node:path';
import { startSocialProviders } from '@bay-booking/testkit/social-providers';
import { writePrivately } from './data-folder.ts';
import type { Settings } from './settings.ts';

export interface SocialProviders {
  file: string | undefined;
  stop(): Promise<void>;
}

const FILE = 'social-providers.json';

export async function socialProviders(settings: Settings): Promise<SocialProviders> {
  const { socialProvidersFile, demo, dataDir } = settings;
  if (socialProvidersFile || !demo) return { file: socialProvidersFile, stop: async () => {} };
  const standIns = await startSocialProviders();
  writePrivately(dataDir, FILE, JSON.stringify(standIns.settings));
  return { file: join(dataDir, FILE), stop: standIns.stop };
}
