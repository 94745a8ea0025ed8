// Checks the claims of client assertions (RFC 7523 section 3), after oidc-provider has checked the signature.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/** In seconds. The limit exists because the database must store each assertion until it expires, to detect replays. */
const maxLifetime = 24 * 3600;
/** In seconds. FAPI 2.0 Security Profile section 5.3.2.1: an assertion must be rejected if its `iat` is later. */
const maxClockSkew = 60;

/**
 * The setting `assertJwtClientAuthClaimsAndHeader` of the configuration.
 *
 * The audience must be the issuer, as a string. The library also accepts the address of the endpoint, or a list of
 * audiences. Another server that the client uses could then send the assertion to us (RFC 9700 section 4.7; FAPI 2.0
 * Security Profile section 5.3.2.1).
 * @throws {errors.InvalidClientAuth} if the audience is not the issuer, `iat` is in the future, or the assertion
 * expires
 *   in more than a day
 */
export async function checkClientAssertion(
  ctx: KoaContextWithOIDC,
  { aud, exp, iat }: { readonly aud?: unknown; readonly exp?: unknown; readonly iat?: unknown },
): Promise<void> {
  const now = Date.now() / 1000;
  if (aud !== ctx.oidc.issuer) throw new errors.InvalidClientAuth('audience (aud) must equal the issuer');
  if (Number(iat) > now + maxClockSkew) throw new errors.InvalidClientAuth('iat is in the future');
  if (Number(exp) > now + maxLifetime) {
    throw new errors.InvalidClientAuth('the client_assertion JWT must expire within a day');
  }
}
