// Creates the requests to passkeys and checks their responses (Web Authentication Level 3).
//
// The signature counter is not checked: synced passkeys have none, or a lower one after a change of the device.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Account } from '../accounts/store.ts';
import type { AuthConfig } from '../config.ts';
import type { FactorStore, NewPasskey, StoredPasskey } from './store.ts';

/** Where a challenge is valid: to sign in, or for one account. */
type Purpose = 'sign-in' | `factor of ${string}` | `set-up of ${string}`;

/** A sign-in page may be open for an hour, as long as an interaction lasts. */
const challengeSeconds = 3600;
const nonceBytes = 16;
const timeBytes = 6;
const ceremonyTimeoutMs = 5 * 60_000;

/** A program that only requests tokens never needs this module, which takes 5 MB. */
const webauthn = () => import('@simplewebauthn/server');

export function createPasskeys(
  { issuer, encryptionKeys }: Pick<AuthConfig, 'issuer' | 'encryptionKeys'>,
  { findPasskey, useChallenge }: Pick<FactorStore, 'findPasskey' | 'useChallenge'>,
) {
  const rpID = new URL(issuer).hostname;
  const expected = { expectedOrigin: issuer, expectedRPID: rpID, requireUserVerification: false };

  const sign = (content: Buffer, purpose: Purpose, key = encryptionKeys[0]): Buffer =>
    createHmac('sha256', key).update(`passkey challenge\0${purpose}\0`).update(content).digest();

  /** Nothing is stored until the challenge is used, because every sign-in page has one. */
  const createChallenge = (purpose: Purpose): Uint8Array<ArrayBuffer> => {
    const content = Buffer.alloc(nonceBytes + timeBytes);
    randomBytes(nonceBytes).copy(content);
    content.writeUIntBE(Math.floor(Date.now() / 1000) + challengeSeconds, nonceBytes, timeBytes);
    return new Uint8Array(Buffer.concat([content, sign(content, purpose)]));
  };

  /** Each challenge works once. */
  const acceptChallenge =
    (purpose: Purpose) =>
    async (challenge: string): Promise<boolean> => {
      const bytes = Buffer.from(challenge, 'base64url');
      const content = bytes.subarray(0, nonceBytes + timeBytes);
      const signature = bytes.subarray(nonceBytes + timeBytes);
      const isRight = encryptionKeys.some((key) => {
        const right = sign(content, purpose, key);
        return signature.length === right.length && timingSafeEqual(signature, right);
      });
      if (!isRight) return false;
      const secondsLeft = content.readUIntBE(nonceBytes, timeBytes) - Math.floor(Date.now() / 1000);
      return secondsLeft > 0 && useChallenge(bytes.toString('base64url'), secondsLeft);
    };

  const requestOptions = async (purpose: Purpose, allowed: readonly StoredPasskey[], isAlone: boolean) =>
    (await webauthn()).generateAuthenticationOptions({
      rpID,
      challenge: createChallenge(purpose),
      timeout: ceremonyTimeoutMs,
      allowCredentials: allowed.map(({ id, transports }) => ({ id, transports: [...transports] })),
      // A passkey that signs in alone must be two factors: the device, and the check of the user.
      userVerification: isAlone ? 'required' : 'preferred',
    });

  /** `isUserVerified`: the passkey has checked who the user is, for example with a fingerprint or a PIN. */
  const use = async (response: string, purpose: Purpose) => {
    const parsed = parse<AuthenticationResponseJSON>(response);
    const passkey = typeof parsed?.id === 'string' ? await findPasskey(parsed.id) : undefined;
    if (!parsed || !passkey) return undefined;
    const { id, publicKey, transports } = passkey;
    const result = await (await webauthn())
      .verifyAuthenticationResponse({
        ...expected,
        response: parsed,
        expectedChallenge: acceptChallenge(purpose),
        credential: { id, publicKey: new Uint8Array(publicKey), counter: 0, transports: [...transports] },
      })
      .catch(() => undefined);
    return result?.verified ? { passkey, isUserVerified: result.authenticationInfo.userVerified } : undefined;
  };

  return {
    /** For a passkey that signs in alone. */
    signInOptions: () => requestOptions('sign-in', [], true),
    /** `response` is the JSON that the browser sent. Returns undefined if it is not valid. */
    signIn: (response: string) => use(response, 'sign-in'),

    secondFactorOptions: (accountId: string, passkeys: readonly StoredPasskey[]) =>
      requestOptions(`factor of ${accountId}`, passkeys, false),
    async useAsSecondFactor(accountId: string, response: string) {
      const used = await use(response, `factor of ${accountId}`);
      return used?.passkey.accountId === accountId ? used : undefined;
    },

    creationOptions: async ({ id, username, name }: Account, existing: readonly StoredPasskey[]) =>
      (await webauthn()).generateRegistrationOptions({
        rpName: 'Bay Booking',
        rpID,
        userName: username,
        userDisplayName: name ?? username,
        // At most 64 bytes, which an imported id could exceed.
        userID: new Uint8Array(Buffer.from(hash('sha256', id, 'hex'), 'hex')),
        challenge: createChallenge(`set-up of ${id}`),
        timeout: ceremonyTimeoutMs,
        excludeCredentials: existing.map((passkey) => ({ id: passkey.id, transports: [...passkey.transports] })),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      }),
    async create(accountId: string, name: string, response: string): Promise<NewPasskey | undefined> {
      const parsed = parse<RegistrationResponseJSON>(response);
      if (!parsed) return undefined;
      const result = await (await webauthn())
        .verifyRegistrationResponse({
          ...expected,
          response: parsed,
          expectedChallenge: acceptChallenge(`set-up of ${accountId}`),
        })
        .catch(() => undefined);
      if (!result?.verified) return undefined;
      const { id, publicKey, transports = [] } = result.registrationInfo.credential;
      const known = transports.filter((transport) => /^[a-z-]{1,20}$/.test(transport)).slice(0, 10);
      return { id, accountId, name, publicKey: Buffer.from(publicKey), transports: known };
    },
  };
}

/** Whether a key (COSE, RFC 9052) has everything that its type needs. */
export async function isPublicKey(bytes: Uint8Array): Promise<boolean> {
  const { cose, decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers');
  try {
    const key = decodeCredentialPublicKey(new Uint8Array(bytes));
    const { kty, alg, crv, x, y } = cose.COSEKEYS;
    const isEllipticCurve = cose.isCOSEPublicKeyEC2(key);
    // RSA has n and e in the places of crv and x.
    return [kty, alg, crv, x, ...(isEllipticCurve ? [y] : [])].every(
      (name) => key.get(name as typeof kty) !== undefined,
    );
  } catch {
    return false;
  }
}

function parse<Response extends object>(text: string): Response | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Response) : undefined;
  } catch {
    return undefined;
  }
}
