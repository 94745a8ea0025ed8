// Lists the grant types that the token endpoint accepts. To add one, write its handler in grants/ and register it in
// provider.ts.

/** Grant types that our own code handles. Our handler of `client_credentials` replaces the library's. */
export const customGrantTypes = ['client_credentials', 'password', 'social_access_token'] as const;

/** RFC 8628 section 3.4. */
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export const grantTypes = ['authorization_code', 'refresh_token', deviceCodeGrantType, ...customGrantTypes] as const;
