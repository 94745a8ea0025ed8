// Lists the grant types that the token endpoint accepts. To add a grant type, add its name here, write its
// handler in grants/, and register the handler in provider.ts.

/** The grant types with a handler in grants/. For `client_credentials`, it replaces the handler of oidc-provider. */
export const customGrantTypes = ['client_credentials', 'password', 'social_access_token'] as const;

/** Exchanges a device code for tokens (RFC 8628 section 3.4). */
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export const grantTypes = ['authorization_code', 'refresh_token', deviceCodeGrantType, ...customGrantTypes] as const;
