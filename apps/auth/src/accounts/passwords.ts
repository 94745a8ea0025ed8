// Hashes and verifies passwords with argon2id, using the parameters that OWASP recommends.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';

/** The parameters of argon2id, which is the default algorithm of the library. `memoryCost` is in KiB. */
const parameters = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** The maximum length of a password in characters. A longer password is not safer, but takes more time to hash. */
export const maxPasswordLength = 256;

// Each running hash needs a CPU core, a thread and 19 MiB of memory, so the numbers of running and waiting hashes are
// limited. Node.js has 4 threads for such work, so more than 4 hashes cannot run at the same time. Even with one core,
// 2 hashes run, so that the second one continues while the main thread handles the result of the first.
const limit = pLimit(Math.max(2, Math.min(availableParallelism(), 4)));
const maxQueueLength = 500;

/** Too many passwords wait to be hashed, or wait for an estimate of their strength (password-policy.ts). */
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

/** Normalises the Unicode text, because different keyboards produce different code points for the same character. */
const normalize = (password: string): string => password.normalize('NFKC');

/** @throws {PasswordQueueFullError} if too many passwords are waiting to be hashed */
export const hashPassword = (password: string): Promise<string> => enqueue(() => hash(normalize(password), parameters));

let dummyHash: Promise<string> | undefined;

/**
 * Whether the password matches the hash. If the account is unknown or has no password, `passwordHash` is undefined or
 * null, and the result is false. The function then takes as much time as with a hash, so that the response time does
 * not reveal whether the account exists.
 * @throws {PasswordQueueFullError} if too many passwords are waiting to be hashed
 */
export async function verifyPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  // `enqueue` is not used here, because it rejects if the queue is full. `dummyHash` would then remain a rejected
  // promise, and every later call without a stored hash would fail.
  dummyHash ??= hash('a password that nobody has', parameters);
  const comparedHash = passwordHash ?? (await dummyHash);
  if (password.length > maxPasswordLength) return false;
  const matches = await enqueue(() => verify(comparedHash, normalize(password)));
  return matches && passwordHash != null;
}
