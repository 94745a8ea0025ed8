// RFC 7518 section 3.4: the signature of ES256.
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { joseSignature } from './signer.ts';

test('r and s are 32 bytes each, whatever DER leaves out or adds', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const lengths = new Set<number>();
  for (let round = 0; round < 3_000; round += 1) {
    const data = Buffer.from(String(round));
    const der = sign('sha256', data, privateKey);
    lengths.add(der.length);
    expect(verify('sha256', data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, joseSignature(der))).toBe(true);
  }
  expect(Math.min(...lengths)).toBeLessThan(70);
  expect(Math.max(...lengths)).toBe(72);
});
