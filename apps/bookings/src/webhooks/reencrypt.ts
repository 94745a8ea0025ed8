// Encrypts the signing secrets of webhooks again, with the first key in WEBHOOK_KEY. To replace a key, the operator
// puts a new key before the old one.
import type { Logger } from '@bay-booking/service/logging';
import { type SecretBox, UnknownEncryptionKey } from '@bay-booking/service/secret-box';
import type { StoredSecrets, WebhookStore } from './api/store.ts';

const batchSize = 100;
/** Sorts before every webhook id, so that the first batch begins with the first webhook. */
const nilId = '00000000-0000-0000-0000-000000000000';

export interface ReencryptionOptions {
  readonly store: Pick<WebhookStore, 'findOldSecrets' | 'replaceSecrets'>;
  readonly secretBox: SecretBox;
  readonly logger: Logger;
}

/**
 * Finds all secrets that are encrypted with an old key and encrypts them with the current key. A secret that no key
 * decrypts stays unchanged, so that it can be decrypted when the operator configures its key again.
 */
export async function reencryptSecrets({ store, secretBox, logger }: ReencryptionOptions): Promise<void> {
  const counts = { encrypted: 0, unreadable: 0 };
  const encryptAgain = (text: string, id: string): string => secretBox.encrypt(secretBox.decrypt(text, id), id);

  async function replace(old: StoredSecrets): Promise<void> {
    const { id, secret, previousSecret } = old;
    try {
      const newPrevious = previousSecret === null ? null : encryptAgain(previousSecret, id);
      await store.replaceSecrets(old, encryptAgain(secret, id), newPrevious);
      counts.encrypted++;
    } catch (error) {
      if (!(error instanceof UnknownEncryptionKey)) throw error;
      counts.unreadable++;
    }
  }

  let batch: readonly StoredSecrets[];
  let lastId = nilId;
  do {
    // Finds secrets that are not encrypted with the first key. A secret begins with the prefix of its key.
    batch = await store.findOldSecrets(secretBox.currentPrefix, lastId, batchSize);
    for (const old of batch) await replace(old);
    lastId = batch.at(-1)?.id ?? lastId;
  } while (batch.length === batchSize);
  if (counts.encrypted > 0) logger.info(counts, 'webhook secrets encrypted with the first key');
  if (counts.unreadable > 0) logger.warn(counts, 'webhook secrets that no key of WEBHOOK_KEY decrypts');
}
