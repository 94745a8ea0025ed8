// Finds what a token request was exchanged for: a code, the code of a device or a refresh token.
import type { KoaContextWithOIDC } from 'oidc-provider';

/** Undefined for grants without such a token: client_credentials, password and social_access_token. */
export function grantSourceOf({ oidc }: KoaContextWithOIDC) {
  const { AuthorizationCode: code, DeviceCode: deviceCode, RefreshToken: refreshToken } = oidc.entities;
  return code ?? deviceCode ?? refreshToken;
}
