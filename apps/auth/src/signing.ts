// Who puts the signature under a token? For ES256 node:crypto at once, which takes 50 µs; the library's own way through WebCrypto and the
// thread pool takes three times that. An RSA signature takes so long that it stays there, off the event loop.
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { ExternalSigningKey, type JWK } from 'oidc-provider';

/** The key as oidc-provider is to use it. */
export const signerOf = (jwk: JWK): JWK | ExternalSigningKey =>
  jwk.alg === 'ES256' && jwk.kid !== undefined ? new Es256Key(jwk, jwk.kid) : jwk;

class Es256Key extends ExternalSigningKey {
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor(jwk: JWK, kid: string) {
    super();
    this.#privateKey = createPrivateKey({ key: jwk as never, format: 'jwk' });
    this.#publicKey = createPublicKey(this.#privateKey);
    Object.assign(this, { kid, alg: 'ES256' });
  }

  override keyObject(): KeyObject {
    return this.#publicKey;
  }

  /** As a JWS wants it (RFC 7518 section 3.4): r and s side by side. */
  override sign(data: Uint8Array): Uint8Array {
    return sign('sha256', data, { key: this.#privateKey, dsaEncoding: 'ieee-p1363' });
  }
}
