// Exports and imports the second factors and social identities of accounts (docs/import.md).
import { textSchema } from '@bay-booking/common/text';
import { type Queryable, query } from '@bay-booking/service/database/database';
import type { FromSchema } from 'json-schema-to-ts';

const text = { ...textSchema, maxLength: 2000 } as const;
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
      properties: { salt: text, hashes: { type: 'array', maxItems: 50, items: text } },
    },
    passkeys: list({ id: text, name: text, publicKey: text, transports: { type: 'array', items: text } }, [
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
       encode(public_key, 'base64'), 'transports', transports) order by id) from passkey f where f.account_id = a.id),
  'socialIdentities', (select jsonb_agg(jsonb_build_object('provider', provider, 'subject', subject,
       'email', email) order by provider, subject) from social_identity f where f.account_id = a.id))), '{}')`;

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
