// Creates and checks the codes of second factors: authenticator apps (TOTP, RFC 6238) and recovery codes.
import { randomBytes, randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { renderSVG } from 'uqr';
import { hashWithSalt } from '../accounts/passwords.ts';
import type { HashedCodes } from '../accounts/record-store.ts';
import { readCode } from '../input/typed-code.ts';

const issuer = 'Bay Booking';
const periodSeconds = 30;
/** In bytes, as RFC 4226 recommends. */
const secretSize = 20;
/** The clock of a phone may differ by one step. */
const window = 1;

export const createSecret = (): string => new Secret({ size: secretSize }).base32;

/** `secret` is in base32. */
const totpOf = (secret: string, label = ''): TOTP => new TOTP({ issuer, label, secret, period: periodSeconds });

/** Returns the step of the code, or undefined if the code is wrong. */
export function stepOfCode(secret: string, code: string, now = Date.now()): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const difference = totpOf(secret).validate({ token: code, timestamp: now, window });
  return difference === null ? undefined : Math.floor(now / 1000 / periodSeconds) + difference;
}

/** Returns the link that authenticator apps open (`otpauth:`). */
export const appLinkOf = (secret: string, username: string): string => totpOf(secret, username).toString();

/** Returns the link as a QR code in SVG. Scanners need dark modules on a light ground. */
export const qrCodeOf = (secret: string, username: string): string => renderSVG(appLinkOf(secret, username));

export const recoveryCodeCount = 10;
/** Has no letters and digits that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** About 59 random bits. */
function createCode(): string {
  const part = () => Array.from({ length: 4 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `${part()}-${part()}-${part()}`;
}

export const createRecoveryCodes = (): readonly string[] => Array.from({ length: recoveryCodeCount }, createCode);

/** Users may type a code in capitals. */
export const hashRecoveryCode = (code: string, salt: Buffer): Promise<string> =>
  hashWithSalt(readCode(code).toLowerCase(), salt);

/** Takes long when many people sign in, so call it before a transaction. */
export async function hashRecoveryCodes(codes: readonly string[]): Promise<HashedCodes> {
  const salt = randomBytes(16);
  return { salt, hashes: await Promise.all(codes.map((code) => hashRecoveryCode(code, salt))) };
}
