// The public settings of well-known providers. With a preset, SOCIAL_PROVIDERS_FILE needs only the credentials.
//
// A preset applies to the provider of that name unless the file contains `replacedBy`. So a token is never sent to a
// public endpoint when the file names a server of its own. docs/social.md says what each preset cannot do.

export interface Preset {
  /** If the file contains this setting, the preset is not used at all. */
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

  // Accepts work, school and personal accounts. To accept those of one organisation only, use `"type": "oidc",
  // "issuer": "https://login.microsoftonline.com/TENANT/v2.0"` instead. There is no endpoint that can check a native
  // token.
  microsoft: {
    replacedBy: 'issuer',
    settings: { type: 'oidc', issuer: 'https://login.microsoftonline.com/common/v2.0' },
  },

  // The client secret of Apple is a JWT that the operator signs; it is valid for six months at most. Apple sends the
  // name and the address only with `response_mode=form_post`, to which our callback cannot respond: the browser does
  // not send our cookie with a form of another site. So the scope is `openid` alone, and accounts have neither name
  // nor address. There is no endpoint that can check a native token.
  apple: {
    replacedBy: 'issuer',
    settings: { type: 'oidc', issuer: 'https://appleid.apple.com', scope: 'openid' },
  },

  // The address is the public one of the user's profile, if there is one. The endpoint with which GitHub checks
  // tokens is unlike those of other providers, so native tokens are not accepted.
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
