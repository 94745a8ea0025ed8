// How is a secret made that is good for whoever holds it, and what is kept of it? 256 random bits, so that one SHA-256 is enough to keep
// and fast enough to look up on every request; base64url, so that neither an address nor the Basic scheme needs escaping.
import { hash, randomBytes } from 'node:crypto';

export const randomToken = (): string => randomBytes(32).toString('base64url');

export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');
