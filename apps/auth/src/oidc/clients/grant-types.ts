// Lists the grant types of the token endpoint. A new one also needs a handler in grants/, registered in provider.ts.

export const customGrantTypes = ['client_credentials', 'password', 'social_access_token'] as const;

/** Exchanges a device code for tokens (RFC 8628 section 3.4). */
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export const grantTypes = ['authorization_code', 'refresh_token', deviceCodeGrantType, ...customGrantTypes] as const;
