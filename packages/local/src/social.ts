// Starts stand-ins for the social providers Google and Facebook, if the demo is loaded without SOCIAL_PROVIDERS_FILE.
import { join } from 'node:path';
import { startSocialProviders } from '@bay-booking/social-stand-ins/providers';
import { writePrivately } from './data-folder.ts';
import type { Settings } from './settings.ts';

export interface SocialProviders {
  /** The value of SOCIAL_PROVIDERS_FILE that auth gets. Undefined: auth gets no such variable. */
  file: string | undefined;
  stop(): Promise<void>;
}

const fileName = 'social-providers.json';

export async function startSocialStandIns(settings: Settings): Promise<SocialProviders> {
  const { socialProvidersFile, hasDemo, dataDir } = settings;
  if (socialProvidersFile || !hasDemo) return { file: socialProvidersFile, stop: async () => {} };
  const standIns = await startSocialProviders();
  writePrivately(dataDir, fileName, JSON.stringify(standIns.settings));
  return { file: join(dataDir, fileName), stop: standIns.stop };
}
