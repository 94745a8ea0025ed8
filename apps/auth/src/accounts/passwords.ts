// Hashes and verifies passwords with argon2id, using the parameters that OWASP recommends.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';

/** `memoryCost` is in KiB. */
const parameters = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** A longer password is not safer, but takes more time to hash. */
export const maxPasswordLength = 256;

// Each hash needs a core, one of Node's 4 threads and 19 MiB of memory. Two hashes run even on one core: the second
// continues while the main thread handles the result of the first.
const limit = pLimit(Math.max(2, Math.min(availableParallelism(), 4)));
const maxQueueLength = 500;

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

/** Different keyboards produce different code points for the same character. */
const normalize = (password: string): string => password.normalize('NFKC');

/** @throws {PasswordQueueFullError} if too many passwords are waiting to be hashed */
export const hashPassword = (password: string): Promise<string> => enqueue(() => hash(normalize(password), parameters));

const phc = /^\$argon2id\$v=19\$m=([1-9]\d{0,4}),t=[1-9],p=([1-9])\$([A-Za-z0-9+/]{11,})\$([A-Za-z0-9+/]{22,})$/;

/** Whether a hash from elsewhere can be verified. Its parameters decide how much memory and time a sign-in takes. */
export function isPasswordHash(text: string): boolean {
  const [, memory, lanes, ...encoded] = phc.exec(text) ?? [];
  // The library rejects bits that encode nothing.
  const isCanonical = (base64: string) =>
    base64 === Buffer.from(base64, 'base64').toString('base64').replace(/=+$/, '');
  return memory !== undefined && Number(memory) >= 8 * Number(lanes) && encoded.every(isCanonical);
}

/** One hash is enough to compare several secrets that have the same salt. */
export const hashWithSalt = (secret: string, salt: Buffer): Promise<string> =>
  enqueue(() => hash(secret, { ...parameters, salt }));

let dummyHash: Promise<string> | undefined;

/**
 * Takes the same time if there is no hash: the response time must not reveal whether the account exists.
 *
 * @throws {PasswordQueueFullError} if too many passwords are waiting to be hashed
 */
export async function verifyPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  // `enqueue` could reject, and `dummyHash` would then remain a rejected promise.
  dummyHash ??= hash('a password that nobody has', parameters);
  const comparedHash = passwordHash ?? (await dummyHash);
  if (password.length > maxPasswordLength) return false;
  const matches = await enqueue(() => verify(comparedHash, normalize(password)));
  return matches && passwordHash != null;
}
