// Finds the code or token that a token request exchanges: an authorization code, a device code or a refresh token.
import type { KoaContextWithOIDC } from 'oidc-provider';

/** Returns undefined for the other grant types, which exchange no stored code or token. */
export function grantSourceOf({ oidc }: KoaContextWithOIDC) {
  const { AuthorizationCode: code, DeviceCode: deviceCode, RefreshToken: refreshToken } = oidc.entities;
  return code ?? deviceCode ?? refreshToken;
}
