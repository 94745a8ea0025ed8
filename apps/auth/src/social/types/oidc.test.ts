// Tests which discovery document is used while a provider is unavailable.
import { startSocialProviders } from '@bay-booking/social-stand-ins/providers';
import { afterEach, expect, jest, test } from '@jest/globals';
import { createSocialProviders, parseSocialProviders } from '../settings.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

test('the last known discovery document stays in use while the provider is unavailable', async () => {
  const social = await startSocialProviders();
  const provider = createSocialProviders(parseSocialProviders(JSON.stringify(social.settings))).get('google');
  // RFC 7636 requires a code verifier of at least 43 characters.
  const authorize = () =>
    provider?.authorizationUrl('http://localhost/callback', { state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) });
  try {
    // The provider is unavailable, and no discovery document is known yet.
    social.outages.google = 'unavailable';
    await expect(authorize()).rejects.toThrow();
    social.outages.google = 'none';
    const url = await authorize();
    expect(url?.href).toContain(`${social.origin}/google/authorize?`);

    social.outages.google = 'unavailable';
    // The discovery document is cached for an hour, so the cache has expired after two hours.
    const inTwoHours = Date.now() + 2 * 3600_000;
    jest.spyOn(Date, 'now').mockReturnValue(inTwoHours);
    expect((await authorize())?.origin).toBe(social.origin);
  } finally {
    await social.stop();
  }
});
