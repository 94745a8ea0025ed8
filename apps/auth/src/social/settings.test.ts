import { describe, expect, test } from '@jest/globals';
import { parseSocialProviders } from './settings.ts';

const parse = (document: unknown) => parseSocialProviders(JSON.stringify(document));
const own = { type: 'oidc', issuer: 'http://localhost:9000', clientId: 'c', clientSecret: 's' };

describe('SOCIAL_PROVIDERS_FILE', () => {
  test('google and facebook have their public endpoints as presets, so that only credentials are needed', () => {
    const providers = parse({
      google: { clientId: 'g', clientSecret: 's' },
      facebook: { clientId: 'f', clientSecret: 's' },
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
  });

  test('an issuer of one’s own never has its tokens sent to the preset’s endpoints', () => {
    expect(parse({ google: own }).get('google')).not.toHaveProperty('tokenInfoEndpoint');
  });

  test('two or more providers of either type', () => {
    const { authorizationEndpoint, ...rest } = {
      authorizationEndpoint: 'https://o.example/authorize',
      tokenEndpoint: 'https://o.example/token',
      userinfoEndpoint: 'https://o.example/me',
    };
    const oauth2 = { type: 'oauth2', authorizationEndpoint, ...rest, clientId: 'c', clientSecret: 's' };
    expect([...parse({ a: own, b: own, c: oauth2, d: oauth2 }).keys()]).toEqual(['a', 'b', 'c', 'd']);
  });

  test('bad input names the path of each fault at once', () => {
    const faulty = {
      google: { clientId: '' },
      facebook: { type: 'oauth2', authorizationEndpoint: 'ftp://x', clientId: 'c', clientSecret: 's' },
      other: { clientId: 'c' },
      plain: { ...own, issuer: 'http://accounts.example' },
      typo: { ...own, clientSecrets: 's' },
      'bad name': own,
    };
    let message = '';
    try {
      parse(faulty);
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
    expect(() => parseSocialProviders('{')).toThrow('is no JSON');
    expect(() => parse([])).toThrow('must be an object');
  });
});
