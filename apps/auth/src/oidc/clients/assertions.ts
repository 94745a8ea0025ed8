// Checks the claims of client assertions (RFC 7523 section 3) after oidc-provider has checked the signature.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/** The identifier of each assertion is stored until the assertion expires. */
const maxLifetimeSeconds = 24 * 3600;
/** FAPI 2.0 Security Profile section 5.3.2.1 */
const maxClockSkewSeconds = 60;

/** The audience must be the issuer as a string. Another server in a list could use the assertion at ours. */
export async function checkClientAssertion(
  ctx: KoaContextWithOIDC,
  { aud, exp, iat }: { readonly aud?: unknown; readonly exp?: unknown; readonly iat?: unknown },
): Promise<void> {
  const now = Date.now() / 1000;
  if (aud !== ctx.oidc.issuer) throw new errors.InvalidClientAuth('audience (aud) must equal the issuer');
  // `iat` is optional: the comparison with NaN is false.
  if (Number(iat) > now + maxClockSkewSeconds) throw new errors.InvalidClientAuth('iat is in the future');
  if (Number(exp) > now + maxLifetimeSeconds) {
    throw new errors.InvalidClientAuth('the client_assertion JWT must expire within a day');
  }
}
