// Exports, checks and imports the second factors and social identities of accounts (docs/import.md).
import { nameSchema, textSchema } from '@bay-booking/common/text';
import { atPointer, type Formats, type PointerError } from '@bay-booking/common/validation';
import { type Queryable, query } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';
import { isPasswordHash } from '../accounts/passwords.ts';
import { isPublicKey } from '../factors/passkeys.ts';
import { decryptSecret } from '../factors/store.ts';

const text = { ...textSchema, maxLength: 2000 } as const;
const base64 = { type: 'string', minLength: 1, maxLength: 2000, format: 'base64' } as const;
export const passwordHash = { type: 'string', maxLength: 512, format: 'argon2id' } as const;
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
export const credentialsSchema = {
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

/** The credentials of the account `a`, as a JSON object, or null if there are none. */
export const credentialsOfAccount = `nullif(jsonb_strip_nulls(jsonb_build_object(
  'authenticatorSecretEncrypted', (select secret_encrypted from authenticator_app f where f.account_id = a.id),
  'recoveryCodes', (select jsonb_build_object('salt', encode(min(salt::text)::bytea, 'base64'),
       'hashes', jsonb_agg(code_hash order by code_hash)) from recovery_code f where f.account_id = a.id
       having count(*) > 0),
  'passkeys', (select jsonb_agg(jsonb_build_object('id', id, 'name', name, 'publicKey',
       translate(encode(public_key, 'base64'), E'\\n', ''), 'transports', transports) order by id) from passkey f where f.account_id = a.id),
  'socialIdentities', (select jsonb_agg(jsonb_build_object('provider', provider, 'subject', subject,
       'email', email) order by provider, subject) from social_identity f where f.account_id = a.id))), '{}')`;

/** The formats of the schema. */
export const credentialFormats: Formats = {
  argon2id: { test: isPasswordHash, hint: 'must be an argon2id hash with possible parameters' },
  base64: { test: (value) => Buffer.from(value, 'base64').toString('base64') === value, hint: 'must be base64' },
};

const secretFormat = /^[A-Z2-7]{16,128}$/;

/** Finds credentials with which nobody could sign in. */
export async function findUnusable(
  accountId: string,
  { authenticatorSecretEncrypted: secret, recoveryCodes, passkeys = [] }: StoredCredentials,
  encryptionKeys: readonly Buffer[] | undefined,
): Promise<readonly PointerError[]> {
  const unusable = (path: string, hint: string): PointerError => atPointer(`/credentials/${path}`, 'invalid', hint);
  const { salt = '', hashes = [] } = recoveryCodes ?? {};
  const saltOfHash = salt.replace(/=+$/, '');
  const canDecrypt = (text: string): boolean => {
    try {
      return secretFormat.test(decryptSecret(text, accountId, encryptionKeys ?? []));
    } catch {
      return false;
    }
  };
  const areKeys = await Promise.all(passkeys.map(({ publicKey }) => isPublicKey(Buffer.from(publicKey, 'base64'))));
  return [
    ...(secret === undefined || canDecrypt(secret)
      ? []
      : [unusable('authenticatorSecretEncrypted', 'KEY_ENCRYPTION_KEY cannot decrypt it for this account')]),
    ...hashes.flatMap((hash, index) =>
      hash.split('$')[4] === saltOfHash ? [] : [unusable(`recoveryCodes/hashes/${index}`, 'has another salt')],
    ),
    ...areKeys.flatMap((isKey, index) =>
      isKey ? [] : [unusable(`passkeys/${index}/publicKey`, 'must be a COSE key')],
    ),
  ];
}

/** The account is new, so it has no other credentials. */
export const importCredentials = (tx: Queryable, accountId: string, credentials: StoredCredentials = {}) =>
  query(
    tx,
    `with given as (select $2::jsonb as value),
     app as (
       insert into authenticator_app (account_id, secret_encrypted, last_step)
       select $1, value ->> 'authenticatorSecretEncrypted', 0 from given where value ? 'authenticatorSecretEncrypted'),
     codes as (
       insert into recovery_code (account_id, code_hash, salt)
       select $1, jsonb_array_elements_text(value #> '{recoveryCodes,hashes}'),
              decode(value #>> '{recoveryCodes,salt}', 'base64') from given),
     keys as (
       insert into passkey (id, account_id, name, public_key, transports)
       select id, $1, name, decode("publicKey", 'base64'), transports
         from given, jsonb_to_recordset(value -> 'passkeys') as n (id text, name text, "publicKey" text, transports text[])
       on conflict do nothing)
     insert into social_identity (provider, subject, account_id, email)
     select provider, subject, $1, email
       from given, jsonb_to_recordset(value -> 'socialIdentities') as n (provider text, subject text, email text)
     on conflict do nothing`,
    [accountId, JSON.stringify(credentials)],
  );
