// Generates secrets (tokens, client secrets, ids of sessions and links) and hashes them for storage.
//
// A secret has 256 random bits, so nobody can guess it, and a plain SHA-256 is enough to protect it. A slow hash, as
// passwords need it, would cost time on every request. Secrets and hashes are base64url, which needs no escaping in
// URLs and in the Basic scheme.
import { hash, randomBytes } from 'node:crypto';

export const randomToken = (): string => randomBytes(32).toString('base64url');

export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');
