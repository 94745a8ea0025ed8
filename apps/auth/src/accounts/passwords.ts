// Hashes and verifies passwords with argon2id, using the parameters that OWASP recommends.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';

/** The parameters of argon2id. `memoryCost` is in KiB. */
const parameters = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** The maximum number of characters. A longer password is not safer, but hashing it takes longer. */
export const maxPasswordLength = 256;

// Each hash occupies a thread and 19 MiB of memory. The number of hashes that run or wait at the same time is therefore
// limited.
const limit = pLimit(Math.max(2, Math.min(availableParallelism(), 4)));
const maxQueueLength = 500;

/** Too many passwords are waiting to be hashed or estimated. The response is a 503. */
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

/** Normalises a password, because different keyboards produce different code points for the same character. */
const normalize = (password: string): string => password.normalize('NFKC');

/** @throws {PasswordQueueFullError} if too many passwords are waiting to be hashed */
export const hashPassword = (password: string): Promise<string> => enqueue(() => hash(normalize(password), parameters));

let dummyHash: Promise<string> | undefined;

/**
 * Whether the password matches the hash. `passwordHash` is undefined or null if the account is unknown or has no
 * password. The function then takes as long as with a hash, so that the response time does not reveal whether the
 * account exists.
 *
 * @throws {PasswordQueueFullError} if too many passwords are waiting to be hashed
 */
export async function verifyPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  // This hash does not wait in the queue. If the queue were full, the rejected promise would stay in `dummyHash`, and
  // every later sign-in would fail.
  dummyHash ??= hash('a password that nobody has', parameters);
  const comparedHash = passwordHash ?? (await dummyHash);
  if (password.length > maxPasswordLength) return false;
  const matches = await enqueue(() => verify(comparedHash, normalize(password)));
  return matches && passwordHash != null;
}
