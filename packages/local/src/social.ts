// Which social providers does auth get? Those of SOCIAL_PROVIDERS_FILE, else, in the demo, the two stand-ins `google` and `facebook`
// (contract section 4, last paragraph).
import type { Settings } from './settings.ts';

export interface SocialProviders {
  file: string | undefined;
  stop(): Promise<void>;
}

export async function socialProviders(settings: Settings): Promise<SocialProviders> {
  return { file: settings.socialProvidersFile, stop: async () => {} };
}
