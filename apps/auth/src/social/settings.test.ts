// Tests how the file SOCIAL_PROVIDERS_FILE is validated, and the presets for well-known social providers.
import { describe, expect, test } from '@jest/globals';
import { presets } from './presets.ts';
import { parseSocialProviders } from './settings.ts';

const parse = (document: unknown) => parseSocialProviders(JSON.stringify(document));
const oidc = { type: 'oidc', issuer: 'http://localhost:9000', clientId: 'c', clientSecret: 's' };

describe('SOCIAL_PROVIDERS_FILE', () => {
  test.each(Object.entries(presets))('the preset %s needs only credentials', (name, { settings }) => {
    const credentials = { clientId: 'c', clientSecret: 's' };
    expect(parse({ [name]: credentials }).get(name)).toMatchObject({ ...settings, ...credentials });
  });

  test('the title is the name with a capital letter, and the claims have defaults', () => {
    const providers = parse({
      google: { clientId: 'g', clientSecret: 's' },
      facebook: { clientId: 'f', clientSecret: 's' },
      github: { clientId: 'h', clientSecret: 's' },
    });
    expect([...providers.values()].map(({ title }) => title)).toEqual(['Google', 'Facebook', 'GitHub']);
    expect(providers.get('facebook')).toMatchObject({ claims: { sub: 'id', name: 'name', email: 'email' } });
  });

  test('if the settings of a provider contain an issuer, no endpoint of the preset is used', () => {
    expect(parse({ google: oidc }).get('google')).not.toHaveProperty('tokenInfoEndpoint');
  });

  test('all errors are reported together, each with its path', () => {
    const invalid = {
      google: { clientId: '' },
      facebook: { type: 'oauth2', authorizationEndpoint: 'ftp://x', clientId: 'c', clientSecret: 's' },
      other: { clientId: 'c' },
      plain: { ...oidc, issuer: 'http://accounts.example' },
      typo: { ...oidc, clientSecrets: 's' },
      'bad name': oidc,
    };
    let message = '';
    try {
      parse(invalid);
    } catch (error) {
      message = (error as Error).message;
    }
    for (const path of [
      '/google/clientId',
      '/facebook/authorizationEndpoint',
      '/facebook must have required property',
      '/other/type',
      '/plain/issuer must be https',
      '/typo',
      '/bad name',
    ])
      expect(message).toContain(path);
    expect(() => parseSocialProviders('{')).toThrow('is not valid JSON');
    expect(() => parse([])).toThrow('must be an object');
  });
});
