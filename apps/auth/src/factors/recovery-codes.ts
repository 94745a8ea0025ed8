// Creates recovery codes, such as `k7wq-9fzm-2xhd`, and hashes them.
import { randomInt } from 'node:crypto';
import { hashWithSalt } from '../accounts/passwords.ts';

export const recoveryCodeCount = 10;
/** Without letters and digits that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** About 59 random bits. */
function createCode(): string {
  const part = () => Array.from({ length: 4 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `${part()}-${part()}-${part()}`;
}

export const createRecoveryCodes = (): readonly string[] => Array.from({ length: recoveryCodeCount }, createCode);

/** Users may type a code in capitals, and with spaces or without hyphens. */
const normalise = (code: string): string => code.toLowerCase().replaceAll(/[\s-]/g, '');

export const hashRecoveryCode = (code: string, salt: Buffer): Promise<string> => hashWithSalt(normalise(code), salt);
