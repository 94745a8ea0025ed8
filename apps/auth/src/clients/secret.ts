// Compares a presented client secret with the stored hashes (RFC 6749 section 2.3.1).
import { hash, timingSafeEqual } from 'node:crypto';

/** All hashes are compared, so that the time does not reveal which one matches. */
export function matchesSecret(presented: string, storedHashes: readonly string[]): boolean {
  const presentedHash = hash('sha256', presented, 'buffer');
  let matches = false;
  for (const storedHash of storedHashes) {
    const expected = Buffer.from(storedHash, 'base64url');
    if (expected.length === presentedHash.length && timingSafeEqual(expected, presentedHash)) matches = true;
  }
  return matches;
}
