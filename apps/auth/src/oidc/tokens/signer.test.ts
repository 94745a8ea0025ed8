// Tests the signature format of ES256 (RFC 7518 section 3.4).
import { generateKeyPairSync, verify } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { ExternalSigningKey } from 'oidc-provider';
import { signingKeyFor } from './signer.ts';

test('a signature consists of r and s with 32 bytes each, even if one of them begins with a zero byte', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'test' };
  // The type of a JWK in oidc-provider differs from the type in Node. For ES256, the result is an object that signs.
  const signer = signingKeyFor(jwk as never) as ExternalSigningKey;
  // In about one of 128 signatures, r or s begins with a zero byte. The test must include such signatures.
  let signaturesWithZeroByte = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const data = Buffer.from(String(round));
    const signature = await signer.sign(data);
    expect(signature).toHaveLength(64);
    expect(verify('sha256', data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
    if (signature[0] === 0 || signature[32] === 0) signaturesWithZeroByte += 1;
  }
  expect(signaturesWithZeroByte).toBeGreaterThan(0);
});
