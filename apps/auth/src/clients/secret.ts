// How are client secrets made and checked? 256 random bits, so that one SHA-256 is enough to keep and fast enough to compare on every
// token request; base64url, so that the Basic scheme needs no escaping (RFC 6749 section 2.3.1).
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export const randomToken = (): string => randomBytes(32).toString('base64url');

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** Compares with every hash, so that the time does not tell which one came close. */
export function matchesSecret(presented: string, hashes: readonly string[]): boolean {
  const given = createHash('sha256').update(presented).digest();
  let matched = false;
  for (const hash of hashes) {
    const known = Buffer.from(hash, 'base64url');
    if (known.length === given.length && timingSafeEqual(known, given)) matched = true;
  }
  return matched;
}
