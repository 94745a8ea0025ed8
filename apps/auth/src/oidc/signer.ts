// Who puts the signature under a token? For ES256 node:crypto at once, which takes 20 µs; the library's own way through WebCrypto and the
// thread pool takes five times that. An RSA signature takes so long that it stays there, off the event loop.
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { ExternalSigningKey, type JWK } from 'oidc-provider';

/** The key as oidc-provider is to use it. */
export const signingKeyFor = (jwk: JWK): JWK | ExternalSigningKey =>
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

  override sign(data: Uint8Array): Uint8Array {
    return joseSignature(sign('sha256', data, this.#privateKey));
  }
}

/** RFC 7518 section 3.4: r and s side by side. node:crypto can write it so as well, which doubles what signing costs. */
export function joseSignature(der: Buffer): Buffer {
  const signature = Buffer.alloc(64);
  let at = 2;
  for (const end of [32, 64]) {
    const start = at + 2;
    const length = der[at + 1] ?? 0;
    // An INTEGER leaves out leading zeros, and has one more where it would be negative.
    const kept = Math.min(length, 32);
    der.copy(signature, end - kept, start + length - kept, start + length);
    at = start + length;
  }
  return signature;
}
