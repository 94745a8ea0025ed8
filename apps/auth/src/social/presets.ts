// Defines the public settings of well-known providers. For these providers, SOCIAL_PROVIDERS_FILE needs to contain only
// the credentials. docs/social.md lists the limits of each preset.
//
// A preset applies to the provider with the same name. If the file contains the setting that `replacedBy` names, the
// file uses another server, and the preset does not apply. Otherwise, tokens of that server could be sent to the
// endpoints of the preset.
//
// A native token is an access token that a native app has received from a social provider.

export interface Preset {
  /** If SOCIAL_PROVIDERS_FILE contains this setting of the provider, the preset is not used at all. */
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

  // Accepts work, school and personal accounts. To accept only the accounts of one organisation, use `"type": "oidc",
  // "issuer": "https://login.microsoftonline.com/TENANT/v2.0"` instead. Native tokens are not accepted, because
  // Microsoft has no endpoint that can check them.
  microsoft: {
    replacedBy: 'issuer',
    settings: { type: 'oidc', issuer: 'https://login.microsoftonline.com/common/v2.0' },
  },

  // The client secret for Apple is a JWT that the operator signs, and it is valid for six months at most. Apple sends
  // the name and the e-mail address only with `response_mode=form_post`. Our callback cannot use that mode, because
  // browsers do not send our cookie with a form of another site. The scope is therefore `openid` alone, and the
  // accounts have neither name nor e-mail address. Native tokens are not accepted, because Apple has no endpoint that
  // can check them.
  apple: {
    replacedBy: 'issuer',
    settings: { type: 'oidc', issuer: 'https://appleid.apple.com', scope: 'openid' },
  },

  // The e-mail address of the account is the public address of the user's GitHub profile, if there is one. Native
  // tokens are not accepted, because GitHub's endpoint that checks tokens differs from that of other providers.
  github: {
    replacedBy: 'authorizationEndpoint',
    settings: {
      type: 'oauth2',
      // The default title would be Github.
      title: 'GitHub',
      authorizationEndpoint: 'https://github.com/login/oauth/authorize',
      tokenEndpoint: 'https://github.com/login/oauth/access_token',
      userinfoEndpoint: 'https://api.github.com/user',
      scope: 'read:user',
    },
  },
};
