// Defines the public settings of well-known providers, so that SOCIAL_PROVIDERS_FILE needs only their credentials.
// docs/social.md lists the limits of each preset.

interface Preset {
  /** If the file has this setting, it names another server, whose tokens must not reach the endpoints of the preset. */
  readonly replacedBy: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

const facebookGraph = 'https://graph.facebook.com/v23.0';

export const presets: Readonly<Record<string, Preset>> = {
  google: {
    replacedBy: 'issuer',
    settings: {
      type: 'oidc',
      issuer: 'https://accounts.google.com',
      tokenInfoEndpoint: 'https://oauth2.googleapis.com/tokeninfo',
    },
  },

  facebook: {
    replacedBy: 'authorizationEndpoint',
    settings: {
      type: 'oauth2',
      authorizationEndpoint: 'https://www.facebook.com/v23.0/dialog/oauth',
      tokenEndpoint: `${facebookGraph}/oauth/access_token`,
      userinfoEndpoint: `${facebookGraph}/me?fields=id,name,email`,
      tokenInfoEndpoint: 'https://graph.facebook.com/debug_token',
      scope: 'email public_profile',
    },
  },

  // Accepts work, school and personal accounts. Microsoft has no endpoint that can check native tokens.
  microsoft: {
    replacedBy: 'issuer',
    settings: { type: 'oidc', issuer: 'https://login.microsoftonline.com/common/v2.0' },
  },

  // Apple sends the name and the e-mail address only with `response_mode=form_post`, which our callback cannot use,
  // because browsers do not send our cookie with a form of another site. Apple has no endpoint for native tokens.
  apple: {
    replacedBy: 'issuer',
    settings: { type: 'oidc', issuer: 'https://appleid.apple.com', scope: 'openid' },
  },

  // No tokenInfoEndpoint: GitHub checks the tokens of native apps in a way that we do not support.
  github: {
    replacedBy: 'authorizationEndpoint',
    settings: {
      type: 'oauth2',
      title: 'GitHub',
      authorizationEndpoint: 'https://github.com/login/oauth/authorize',
      tokenEndpoint: 'https://github.com/login/oauth/access_token',
      userinfoEndpoint: 'https://api.github.com/user',
      scope: 'read:user',
    },
  },
};
