// Tests how the file SOCIAL_PROVIDERS_FILE is validated, and the presets for well-known social providers.
import { describe, expect, test } from '@jest/globals';
import { parseSocialProviders } from './settings.ts';

const parse = (document: unknown) => parseSocialProviders(JSON.stringify(document));
const oidc = { type: 'oidc', issuer: 'http://localhost:9000', clientId: 'c', clientSecret: 's' };

describe('SOCIAL_PROVIDERS_FILE', () => {
  test('google, facebook, microsoft, apple and github are presets that need only credentials', () => {
    const providers = parse({
      google: { clientId: 'g', clientSecret: 's' },
      facebook: { clientId: 'f', clientSecret: 's' },
      microsoft: { clientId: 'm', clientSecret: 's' },
      apple: { clientId: 'a', clientSecret: 's' },
      github: { clientId: 'h', clientSecret: 's' },
    });
    expect(providers.get('google')).toMatchObject({
      type: 'oidc',
      issuer: 'https://accounts.google.com',
      title: 'Google',
    });
    expect(providers.get('facebook')).toMatchObject({
      type: 'oauth2',
      tokenInfoEndpoint: 'https://graph.facebook.com/debug_token',
      claims: { sub: 'id', name: 'name', email: 'email' },
    });
    expect(providers.get('microsoft')).toMatchObject({
      type: 'oidc',
      issuer: 'https://login.microsoftonline.com/common/v2.0',
    });
    expect(providers.get('apple')).toMatchObject({ type: 'oidc', issuer: 'https://appleid.apple.com' });
    expect(providers.get('github')).toMatchObject({
      type: 'oauth2',
      title: 'GitHub',
      userinfoEndpoint: 'https://api.github.com/user',
    });
  });

  test('if the settings of a provider contain an issuer, no endpoint of the preset is used', () => {
    expect(parse({ google: oidc }).get('google')).not.toHaveProperty('tokenInfoEndpoint');
  });

  test('two or more providers of either type can be configured', () => {
    const oauth2 = {
      type: 'oauth2',
      authorizationEndpoint: 'https://o.example/authorize',
      tokenEndpoint: 'https://o.example/token',
      userinfoEndpoint: 'https://o.example/me',
      clientId: 'c',
      clientSecret: 's',
    };
    expect([...parse({ a: oidc, b: oidc, c: oauth2, d: oauth2 }).keys()]).toEqual(['a', 'b', 'c', 'd']);
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
