// Generates secrets of 256 random bits. Nobody can guess them, so a plain SHA-256 protects them in the database.
import { hash, randomBytes } from 'node:crypto';

export const randomToken = (): string => randomBytes(32).toString('base64url');

export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');
