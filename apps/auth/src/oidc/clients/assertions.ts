// Checks the claims of client assertions (RFC 7523 section 3), after oidc-provider has checked the signature. A client
// assertion is a signed JWT with which a client authenticates, instead of with a secret.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/**
 * The maximum number of seconds until an assertion expires. To detect replays, the database stores the identifier of
 * each assertion until the assertion expires.
 */
const maxLifetimeSeconds = 24 * 3600;
/** The maximum number of seconds by which `iat` may be in the future (FAPI 2.0 Security Profile section 5.3.2.1). */
const maxClockSkewSeconds = 60;

/**
 * The setting `assertJwtClientAuthClaimsAndHeader` of oidc-provider.
 *
 * The audience must be the issuer, as a string (FAPI 2.0 Security Profile section 5.3.2.1). The library would also
 * accept the address of the endpoint, or a list of audiences. With a list, another server that the client uses could
 * send the assertion to us and act as the client.
 * @throws {errors.InvalidClientAuth} if the audience is not the issuer, if `iat` is more than a minute in the future,
 *   or if the assertion expires in more than a day
 */
export async function checkClientAssertion(
  ctx: KoaContextWithOIDC,
  { aud, exp, iat }: { readonly aud?: unknown; readonly exp?: unknown; readonly iat?: unknown },
): Promise<void> {
  const now = Date.now() / 1000;
  if (aud !== ctx.oidc.issuer) throw new errors.InvalidClientAuth('audience (aud) must equal the issuer');
  // `iat` is optional: if it is missing, `Number(iat)` is NaN and the comparison is false. `exp` is never missing here,
  // because oidc-provider has already rejected an assertion without `exp`.
  if (Number(iat) > now + maxClockSkewSeconds) throw new errors.InvalidClientAuth('iat is in the future');
  if (Number(exp) > now + maxLifetimeSeconds) {
    throw new errors.InvalidClientAuth('the client_assertion JWT must expire within a day');
  }
}
