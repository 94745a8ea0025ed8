// Imports a private key that signs client assertions.
import type { CryptoKey } from 'oauth4webapi';
import type { PrivateJwk } from '../options.ts';

const parametersOf: Readonly<Record<string, { name: string; namedCurve?: string; hash?: string }>> = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
  Ed25519: { name: 'Ed25519' },
};

const defaultAlgorithms: Readonly<Record<string, string>> = { EC: 'ES256', RSA: 'PS256', OKP: 'Ed25519' };

/** @throws {TypeError} if the authorization server does not accept the algorithm of the key */
export async function importPrivateKey(
  key: CryptoKey | PrivateJwk,
  keyId: string | undefined,
): Promise<{ key: CryptoKey; kid?: string }> {
  if (!('kty' in key)) return { key, ...(keyId && { kid: keyId }) };
  const parameters = parametersOf[key.alg ?? defaultAlgorithms[key.kty] ?? ''];
  if (!parameters) throw new TypeError(`A key of type ${key.kty} with alg ${key.alg} cannot sign client assertions`);
  // `importKey` rejects a key whose `alg`, `use` or `key_ops` contradicts `parameters`.
  const { kid = keyId, alg: _alg, use: _use, key_ops: _operations, ...jwk } = key;
  return { key: await crypto.subtle.importKey('jwk', jwk, parameters, false, ['sign']), ...(kid && { kid }) };
}
