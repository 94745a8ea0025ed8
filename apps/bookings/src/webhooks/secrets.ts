// Creates the signing secrets of webhooks, and encrypts and decrypts texts that contain these secrets: the secrets
// themselves, and the responses to registrations of webhooks. Such a response is stored if the request has an
// Idempotency-Key.
//
// The format of an encrypted text is `v1.key.nonce.ciphertext-and-tag`. The algorithm is AES-256-GCM with a new random
// nonce for each encryption. `key` is the beginning of a hash of the encryption key. It shows which secrets must be
// encrypted again after the operator has replaced the key.
//
// Each encrypted text has an owner, such as a webhook. The id of the owner is additional authenticated data. If
// somebody with access to the database copies the text to another owner, the text cannot be decrypted there.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

export class UnknownEncryptionKey extends Error {
  override readonly name = 'UnknownEncryptionKey';
  constructor() {
    super('no key of WEBHOOK_KEY can decrypt this text');
  }
}

export type SecretBox = ReturnType<typeof createSecretBox>;

/** The first key encrypts, and every key decrypts. Each key has 32 bytes. */
export function createSecretBox(keys: readonly Buffer[]) {
  const keyById = new Map(keys.map((key) => [keyId(key), key]));
  const [currentKey] = keys;
  if (!currentKey) throw new Error('at least one key is needed');
  const currentPrefix = `v1.${keyId(currentKey)}.`;

  return {
    /** Texts that the first key has encrypted start with this prefix. */
    currentPrefix,

    /**
     * `owner` is the id of the webhook or of the idempotency key with which the text is stored. The text can be
     * decrypted only with the same owner.
     */
    encrypt: (text: string, owner: string): string => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', currentKey, nonce).setAAD(Buffer.from(owner));
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${currentPrefix}${nonce.toString('base64url')}.${encrypted.toString('base64url')}`;
    },

    /**
     * @throws {UnknownEncryptionKey} if none of the keys has encrypted the text, or the text has another format
     * @throws {Error} if the text was changed or belongs to another owner
     */
    decrypt: (text: string, owner: string): string => {
      const [version, id = '', nonce = '', encoded = ''] = text.split('.');
      const key = keyById.get(id);
      if (version !== 'v1' || !key) throw new UnknownEncryptionKey();
      const encrypted = Buffer.from(encoded, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'))
        .setAAD(Buffer.from(owner))
        .setAuthTag(encrypted.subarray(-tagBytes));
      return Buffer.concat([decipher.update(encrypted.subarray(0, -tagBytes)), decipher.final()]).toString('utf8');
    },
  };
}

/** Creates a signing secret in the format that Standard Webhooks prescribes. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}
