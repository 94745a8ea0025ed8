// Generates and hashes secrets. Encrypts and decrypts others for storage, with AES-256-GCM.
//
// The format is `v1.KEY.NONCE.CIPHERTEXT`. KEY is the beginning of a hash of the encryption key. The ciphertext ends
// with the authentication tag.
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

export const randomToken = (): string => randomBytes(32).toString('base64url');

/** Nobody can guess 256 random bits, so a plain SHA-256 protects them in the database. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');

const nonceBytes = 12;
const tagBytes = 16;

/** None of the keys has encrypted the value, or the value has another format. */
export class UnknownEncryptionKey extends Error {
  override readonly name = 'UnknownEncryptionKey';
}

/** `owner` is the id of the record that contains the value. In another record, the value cannot be decrypted. */
export type SecretBox = ReturnType<typeof createSecretBox>;

/** The first key encrypts. Every key decrypts. Each key has 32 bytes. */
export function createSecretBox(keys: readonly Buffer[]) {
  const [currentKey] = keys;
  if (!currentKey) throw new Error('at least one key is needed');
  const currentPrefix = `v1.${idOf(currentKey)}.`;
  return {
    /** Values that the first key has encrypted start with this prefix. */
    currentPrefix,

    encrypt(text: string, owner: string): string {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', currentKey, nonce).setAAD(Buffer.from(owner));
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${currentPrefix}${nonce.toString('base64url')}.${encrypted.toString('base64url')}`;
    },

    /** @throws {UnknownEncryptionKey} or another error if the value was changed or belongs to another record */
    decrypt(text: string, owner: string): string {
      const [version, keyId, nonce = '', encoded = ''] = text.split('.');
      const key = version === 'v1' ? keys.find((candidate) => idOf(candidate) === keyId) : undefined;
      if (!key) throw new UnknownEncryptionKey('no key can decrypt this text');
      const encrypted = Buffer.from(encoded, 'base64url');
      const nonceBuffer = Buffer.from(nonce, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key, nonceBuffer, { authTagLength: tagBytes })
        .setAAD(Buffer.from(owner))
        .setAuthTag(encrypted.subarray(-tagBytes));
      return Buffer.concat([decipher.update(encrypted.subarray(0, -tagBytes)), decipher.final()]).toString('utf8');
    },
  };
}

const idOf = (key: Buffer): string => hash('sha256', key, 'hex').slice(0, 8);
