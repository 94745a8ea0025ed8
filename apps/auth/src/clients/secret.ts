// Is this the client's secret (RFC 6749 section 2.3.1)? Two are good while they rotate; of each only the hash is kept (secrets.ts).
import { hash, timingSafeEqual } from 'node:crypto';

/** Compares with every hash, so that the time does not tell which one came close. */
export function matchesSecret(presented: string, hashes: readonly string[]): boolean {
  const given = hash('sha256', presented, 'buffer');
  let matched = false;
  for (const kept of hashes) {
    const known = Buffer.from(kept, 'base64url');
    if (known.length === given.length && timingSafeEqual(known, given)) matched = true;
  }
  return matched;
}
