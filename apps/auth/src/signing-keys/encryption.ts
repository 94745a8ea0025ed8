// Encrypts and decrypts private keys with KEY_ENCRYPTION_KEY, using AES-256-GCM.
//
// An encrypted key has the format `v1.NONCE.CIPHERTEXT`. The nonce has 96 bits and is new for each encryption. The
// ciphertext ends with the authentication tag, which has 16 bytes. Nonce and ciphertext are base64url. The tag also
// protects the key id. An encrypted key can therefore not be copied to the row of another key.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { JWK } from 'jose';

const nonceBytes = 12;
const tagBytes = 16;

/** An encrypted key cannot be decrypted with KEY_ENCRYPTION_KEY. */
export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey';
  constructor() {
    super('KEY_ENCRYPTION_KEY does not open the signing keys in the database: they were encrypted with another key');
  }
}

export function encryptJwk(jwk: JWK, kid: string, encryptionKey: Buffer): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', encryptionKey, nonce).setAAD(Buffer.from(kid));
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(jwk)), cipher.final(), cipher.getAuthTag()]);
  return `v1.${nonce.toString('base64url')}.${encrypted.toString('base64url')}`;
}

/** @throws {WrongEncryptionKey} if `text` was encrypted with another encryption key, or for another key id */
export function decryptJwk(text: string, kid: string, encryptionKey: Buffer): JWK {
  try {
    const [version, nonce = '', encoded = ''] = text.split('.');
    if (version !== 'v1') throw new Error('unknown format');
    const encrypted = Buffer.from(encoded, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', encryptionKey, Buffer.from(nonce, 'base64url'))
      .setAAD(Buffer.from(kid))
      .setAuthTag(encrypted.subarray(-tagBytes));
    const json = Buffer.concat([decipher.update(encrypted.subarray(0, -tagBytes)), decipher.final()]);
    return JSON.parse(json.toString('utf8'));
  } catch {
    throw new WrongEncryptionKey();
  }
}
