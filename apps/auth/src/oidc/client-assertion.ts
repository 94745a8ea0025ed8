// Checks the claims of client assertions (RFC 7523 section 3), after oidc-provider has checked the signature.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/** Seconds. Each assertion is remembered until it expires, so that it is accepted once. */
const maxLifetime = 24 * 3600;

/**
 * `assertJwtClientAuthClaimsAndHeader` of the configuration. The audience must be the issuer, as a string: the library
 * also accepts the address of the endpoint, or a list, which lets another server of the client replay the assertion
 * (RFC 9700 section 4.7; FAPI 2.0 Security Profile section 5.3.2.1).
 */
export async function checkClientAssertion(
  ctx: KoaContextWithOIDC,
  { aud, exp }: { readonly aud?: unknown; readonly exp?: unknown },
): Promise<void> {
  if (aud !== ctx.oidc.issuer) throw new errors.InvalidClientAuth('audience (aud) must equal the issuer');
  if (Number(exp) > Date.now() / 1000 + maxLifetime) {
    throw new errors.InvalidClientAuth('the client_assertion JWT must expire within a day');
  }
}
