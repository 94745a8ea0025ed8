// Hashes and verifies passwords with argon2id, using the parameters that OWASP recommends.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';

/** Memory in KiB. */
const parameters = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** Characters. A longer password costs more to hash and is no safer. */
export const maxPasswordLength = 256;

// Each hash occupies a thread and 19 MiB, so the number of parallel hashes is limited, and so is the queue.
const limit = pLimit(Math.max(2, Math.min(availableParallelism(), 4)));
const maxQueueLength = 500;

/** The queue of passwords is full. The client should try again later (503). */
export class PasswordQueueFullError extends Error {
  override readonly name = 'PasswordQueueFullError';
  readonly status = 503;
}

function enqueue<T>(work: () => Promise<T>): Promise<T> {
  if (limit.pendingCount >= maxQueueLength) {
    return Promise.reject(new PasswordQueueFullError('too many passwords are waiting to be hashed'));
  }
  return limit(work);
}

/** Keyboards produce different code points for the same character, so passwords are normalised. */
const normalize = (password: string): string => password.normalize('NFKC');

/** @throws {PasswordQueueFullError} */
export const hashPassword = (password: string): Promise<string> => enqueue(() => hash(normalize(password), parameters));

let dummyHash: Promise<string> | undefined;

/**
 * Returns false if there is no hash, because the account is unknown or has no password. That takes as long as a
 * comparison with a hash, so the response time does not reveal whether the account exists.
 *
 * @throws {PasswordQueueFullError}
 */
export async function verifyPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  // Not queued: a rejection by a full queue would be kept for every later sign-in.
  dummyHash ??= hash('a password that nobody has', parameters);
  const comparedHash = passwordHash ?? (await dummyHash);
  if (password.length > maxPasswordLength) return false;
  const matches = await enqueue(() => verify(comparedHash, normalize(password)));
  return matches && passwordHash != null;
}
