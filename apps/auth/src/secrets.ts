// Generates secrets (tokens, client secrets, ids of sessions and links) and hashes them for storage.
//
// A secret has 256 random bits. Nobody can guess it, so a plain SHA-256 is enough to protect the stored secret. A slow
// hash, which passwords need, would cost time in every request. Secrets and hashes are base64url, which needs no
// escaping in URLs and in the Basic scheme.
import { hash, randomBytes } from 'node:crypto';

export const randomToken = (): string => randomBytes(32).toString('base64url');

export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');
