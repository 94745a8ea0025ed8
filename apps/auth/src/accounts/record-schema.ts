// Defines the JSON Schema of the record account.
import { idSchema, nameSchema, textSchema } from '@bay-booking/common/text';
import type { FromSchema } from 'json-schema-to-ts';
import { type FacilityRole, roleNames } from '../facilities/roles.ts';

const text = { ...textSchema, maxLength: 2000 } as const;
const base64 = { type: 'string', minLength: 1, maxLength: 2000, format: 'base64' } as const;
const passwordHash = { type: 'string', maxLength: 512, format: 'argon2id' } as const;
const list = <const Properties extends object, Name extends keyof Properties>(
  properties: Properties,
  required: readonly Name[],
) =>
  ({
    type: 'array',
    maxItems: 50,
    items: { type: 'object', required, additionalProperties: false, properties },
  }) as const;

/** `export?credentials=hashed` writes it. Only a new account gets it. */
const credentialsSchema = {
  type: 'object',
  writeOnly: true,
  additionalProperties: false,
  properties: {
    authenticatorSecretEncrypted: { ...text, description: 'Encrypted with KEY_ENCRYPTION_KEY.' },
    recoveryCodes: {
      type: 'object',
      required: ['salt', 'hashes'],
      additionalProperties: false,
      properties: { salt: base64, hashes: { type: 'array', maxItems: 50, items: passwordHash } },
    },
    passkeys: list({ id: text, name: nameSchema, publicKey: base64, transports: { type: 'array', items: text } }, [
      'id',
      'name',
      'publicKey',
      'transports',
    ]),
    socialIdentities: list({ provider: text, subject: text, email: text }, ['provider', 'subject']),
  },
} as const;

export type StoredCredentials = FromSchema<typeof credentialsSchema>;

/** A line without spaces at its ends, because the sign-in page removes such spaces from the typed name. */
const username = { ...idSchema, pattern: '^\\S(?:.*\\S)?$' } as const;
export const role = { enum: Object.keys(roleNames) as readonly FacilityRole[] } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
export const accountSchema = {
  type: 'object',
  required: ['id', 'username'],
  additionalProperties: false,
  properties: {
    id: idSchema,
    username,
    name: { ...nameSchema, maxLength: 100 },
    email: { ...textSchema, maxLength: 254 },
    emailVerified: { type: 'boolean' },
    kind: { enum: ['user', 'service'] },
    roles: { type: 'array', maxItems: 100, items: textSchema },
    disabled: { type: 'boolean' },
    memberships: {
      type: 'array',
      items: {
        type: 'object',
        required: ['facilityId', 'role'],
        additionalProperties: false,
        properties: { facilityId: textSchema, role },
      },
    },
    password: { type: 'string', minLength: 1, maxLength: 256, writeOnly: true },
    passwordHash: { ...passwordHash, writeOnly: true },
    // For demos and tests.
    totpSecret: { type: 'string', pattern: '^[A-Z2-7]{16,128}$', writeOnly: true },
    recoveryCodes: { type: 'array', maxItems: 10, items: textSchema, writeOnly: true },
    credentials: credentialsSchema,
    secondFactor: { enum: ['none', 'totp', 'passkey', 'both'], readOnly: true },
    lockedUntil: { ...nullableTime, readOnly: true, description: 'Until when wrong passwords lock the account out.' },
    lastSignInAt: { ...nullableTime, readOnly: true },
  },
} as const;

/** `prepare` adds the last two fields. Only a new authenticator app has `newCodes`. */
export type AccountInput = FromSchema<typeof accountSchema> & { newHash?: string; newCodes?: HashedCodes };

/** Recovery codes of a second factor. factors/ builds on this folder, so the type stands here. */
export interface HashedCodes {
  readonly salt: Buffer;
  readonly hashes: readonly string[];
}
