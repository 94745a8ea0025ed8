// Exports, checks and imports the second factors and social identities of accounts (docs/import.md).
import { atPointer, type Formats, type PointerError } from '@bay-booking/common/validation';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { isPasswordHash } from '../accounts/passwords.ts';
import type { AccountCredentials } from '../accounts/record.ts';
import type { AccountInput } from '../accounts/record-store.ts';
import { hashRecoveryCodes } from './codes.ts';
import { decryptSecret, encryptSecret, findSecret, storeRecoveryCodes } from './codes-store.ts';
import { isPublicKey } from './passkeys.ts';

type Credentials = NonNullable<AccountInput['credentials']>;

/** The credentials of the account `a`, as a JSON object, or null if there are none. */
const credentialsOfAccount = `nullif(jsonb_strip_nulls(jsonb_build_object(
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
async function findUnusable(
  accountId: string,
  { authenticatorSecretEncrypted: secret, recoveryCodes, passkeys = [] }: Credentials,
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
const importCredentials = (tx: Queryable, accountId: string, credentials: Credentials) =>
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

/** The credentials of accounts as records have them. */
export const createAccountCredentials = (encryptionKeys: readonly Buffer[] | undefined): AccountCredentials => ({
  column: credentialsOfAccount,
  prepare: async (db, { id, totpSecret: secret, recoveryCodes = [], credentials = {} }) => {
    const problems = await findUnusable(id, credentials, encryptionKeys);
    if (secret === undefined) return { problems };
    if (!encryptionKeys)
      return { problems: [...problems, atPointer('/totpSecret', 'invalid', 'needs KEY_ENCRYPTION_KEY')] };
    const isStored = (await findSecret(db, id, encryptionKeys)) === secret;
    return { problems, ...(!isStored && { newCodes: await hashRecoveryCodes(recoveryCodes) }) };
  },
  async write(tx, { id, totpSecret: secret = '', newCodes, credentials }, { isNew }) {
    if (isNew && credentials) await importCredentials(tx, id, credentials);
    if (!newCodes) return;
    await query(
      tx,
      `insert into authenticator_app (account_id, secret_encrypted, last_step) values ($1, $2, 0)
       on conflict (account_id) do update set secret_encrypted = excluded.secret_encrypted, last_step = 0`,
      [id, encryptSecret(secret, id, encryptionKeys ?? [])],
    );
    await storeRecoveryCodes(tx, id, newCodes);
  },
});
