// The record client: its metadata, its own settings, and the personal access tokens of service accounts.

import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isoTimeOf } from '@bay-booking/common/date-times';
import { textSchema } from '@bay-booking/common/text';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import { commandNames } from '@bay-booking/records/commands';
import {
  createReads,
  type Fields,
  outcomeOf,
  type PrepareContext,
  type RecordKind,
  type Stored,
  toWrite,
} from '@bay-booking/records/record';
import { jsonText, type Queryable, query } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import {
  findDeleted,
  findDisabled,
  findMissing,
  isoTime,
  skipped,
  storeOperatorEvents,
  withoutNulls,
} from '../../audit/operator-store.ts';
import { usesSecret } from '../../clients/metadata.ts';
import { recordClientLifetimes } from '../../signing-keys/store.ts';
import type { ScopeTable } from '../scopes.ts';
import { providerMetadata } from './registered-client.ts';
import {
  type ClientState,
  clientSchema,
  findClientErrors,
  type ImportedClient,
  operatorScopes,
  toStoredClient,
} from './rules.ts';
import type { ClientMetadataError, ClientValidator } from './validation.ts';

const columns = `c.id, c.kind, c.pkce, c.metadata, c.scope, c.account_id as "accountId", c.name, c.access,
  c.facility_ids as "facilityIds", c.disabled_at is not null as disabled, ${isoTime('c.expires_at')} as "expiresAt",
  (select coalesce(jsonb_agg(jsonb_build_object('sha256', s.secret_sha256, 'expiresAt', ${isoTime('s.expires_at')})
                             order by s.created_at, s.secret_sha256), '[]')
     from client_secret s where s.client_id = c.id) as secrets`;

const rows = {
  columns,
  shown: `json_build_object('secretExpiresAt', (
    select ${isoTime('max(s.expires_at)')} from client_secret s where s.client_id = c.id))`,
  from: 'from client c where true',
  orderBy: 'c.id',
  byKey: 'c.id = $1',
  conditions: { kind: 'c.kind = {kind}', accountId: 'c.account_id = {accountId}' },
};

export const selectClients = (on: Queryable, ids: readonly string[]): Promise<readonly ClientState[]> =>
  query<ClientState>(on, `select ${columns} from client c where c.id = any ($1)`, [ids]);

function recordOf({ id, accountId, access, facilityIds, metadata, pkce, scope, secrets, ...common }: ClientState) {
  const { client_name, ...settings } = metadata;
  const [own, shown] =
    accountId === null ? [{ pkce, scope }, metadata] : [{ accountId, access, facilities: facilityIds }, settings];
  return { client_id: id, ...withoutNulls({ ...common, ...own }), ...shown } as ImportedClient;
}

const read = (state: ClientState): Stored<ImportedClient> => {
  const record = recordOf(state);
  return { record, tagged: [record, state.secrets] };
};

export function createClientKind(scopes: ScopeTable, validator: ClientValidator): RecordKind<ImportedClient> {
  const isOperator = (scope: unknown): boolean => typeof scope === 'string' && operatorScopes(scope, scopes).length > 0;

  return {
    name: 'client',
    collection: 'clients',
    key: 'client_id',
    example: {
      client_id: 'till',
      kind: 'standard',
      pkce: 'optional',
      scope: 'openid',
      redirect_uris: ['https://till.example/callback'],
      disabled: false,
    },
    // Further fields are OpenID Connect client metadata, which `prepare` checks.
    schema: clientSchema,
    filters: { kind: { ...clientSchema.properties.kind, description: 'Kind of client.' }, accountId: textSchema },
    notes: {
      put: 'The secrets and the kind stay if they are left out. Of an operator, only the name can change.',
      remove: 'Revokes its grants and tokens. An operator can only be deleted by a command.',
    },
    ...createReads(rows, read),
    readAll: async (on, { credentials }) => {
      const states = await query<ClientState>(on, `select ${columns} from client c order by c.id`);
      return states.map((state) => ({ ...recordOf(state), ...(credentials === 'hashed' && hashesOf(state)) }));
    },

    async prepare(db, records, context) {
      const ids = records.map(({ client_id: id }) => id);
      const stored = new Map((await selectClients(db, ids)).map((client) => [client.id, client]));
      const prepared = [];
      for (const record of records) {
        // An account that is invalid makes the client a personal access token too.
        const ofAccount = 'accountId' in record && { accountId: record.accountId ?? '' };
        const { problems } = await judge({ ...record, ...ofAccount }, stored.get(record.client_id), context);
        prepared.push({ record, problems: [...findFormErrors(record), ...problems] });
        // oidc-provider does not wait for anything.
        await setImmediate();
      }
      return prepared;
    },

    async upsert(tx, records, context) {
      const ids = records.map(({ client_id: id }) => id);
      const stored = new Map((await selectClients(tx, ids)).map((client) => [client.id, client]));
      const accountIds = records.flatMap(({ accountId = [] }) => accountId);
      const facilityIds = records.flatMap(({ facilities = [] }) => facilities);
      const deleted = await findDeleted(tx, 'account', accountIds);
      const noAccounts = await findMissing(tx, 'account', accountIds);
      const noFacilities = await findMissing(tx, 'facility', facilityIds);
      const disabledFacilities = await findDisabled(tx, facilityIds);
      const keep = context.missing === 'keep';
      const outcomes = await Promise.all(
        records.map(async (record) => {
          const before = stored.get(record.client_id);
          // Again, because what the record leaves out may have changed since `prepare`.
          const { client, problems } = await judge(record, before, context);
          const { accountId, secrets } = client;
          const isNewSecret = usesSecret(client.metadata) && !isDeepStrictEqual(before?.secrets ?? [], secrets);
          if (accountId !== null && noAccounts.has(accountId))
            problems.push(atPointer('/accountId', 'invalid', `there is no account ${accountId}`));
          for (const [index, id] of (record.facilities ?? []).entries()) {
            const pointer = `/facilities/${index}`;
            if (noFacilities.has(id)) problems.push(atPointer(pointer, 'invalid', `there is no facility ${id}`));
            else if (!before && disabledFacilities.has(id))
              problems.push(atPointer(pointer, 'conflict', `${id} is disabled`, { code: 'FACILITY00001' }));
          }
          const changed = isNewSecret ? ['client_secret'] : [];
          const outcome = outcomeOf(before && read(before), recordOf(client), problems, changed);
          if (keep && deleted.has(record.accountId ?? '')) return { ...outcome, ...skipped, client };
          const forbidden = context.isCommand ? undefined : findForbidden(before, outcome.changed, record);
          return { ...outcome, problems: forbidden ?? problems, client };
        }),
      );
      const written = toWrite(outcomes);
      if (written.length > 0) {
        // The signing keys remember the longest lifetime of access tokens, before and after the change.
        await recordClientLifetimes(tx);
        await writeClients(
          tx,
          written.map(({ client }) => client),
        );
        await recordClientLifetimes(tx);
      }
      const events = written.map(({ before, client: { id: clientId, accountId }, changed }) => ({
        kind: before ? 'client.changed' : 'client.created',
        clientId,
        ...(accountId !== null && { accountId }),
        detail: { changed },
      }));
      await storeOperatorEvents(tx, context, events);
      return outcomes;
    },

    async remove(tx, { client_id: id, scope }, context) {
      if (isOperator(scope)) return forbidden('', 'an operator cannot be deleted by this API');
      // Also deletes the grants of users, so that a new client with the same id does not get them.
      await query(tx, 'delete from oidc_artifact where client_id = $1', [id]);
      await query(tx, 'delete from client where id = $1', [id]);
      await storeOperatorEvents(tx, context, [{ kind: 'client.deleted', clientId: id }]);
      return undefined;
    },
  };

  /**
   * If misspelt fields were ignored, a client could get the wrong rights: `account_id` instead of `accountId` would
   * make a personal access token an ordinary client.
   */
  function findFormErrors({ client_id: id = '', ...fields }: Partial<ImportedClient>): readonly PointerError[] {
    const isCommand = commandNames.includes(id.toLowerCase());
    // oidc-provider keeps the authorizations of a session in an object, by client id.
    const isInherited = id in Object.prototype;
    const unknown = validator.findUnknown(
      Object.keys(fields).filter((field) => !Object.hasOwn(clientSchema.properties, field)),
    );
    return [
      ...(isCommand ? [atPointer('/client_id', 'invalid', 'is the name of a command')] : []),
      ...(isInherited
        ? [atPointer('/client_id', 'invalid', 'is the name of a property of every JavaScript object')]
        : []),
      ...unknown.map((field) => atPointer(`/${field}`, 'unknown', 'is not known')),
    ];
  }

  /** The client with the fields that the record leaves out, and its problems. */
  async function judge(record: ImportedClient, before: ClientState | undefined, { missing }: PrepareContext) {
    const { secretExpiresAt: _, ...given } = record;
    const imported = complete(given, before, missing === 'keep');
    const client = toStoredClient(imported, secretsOf(given, before));
    const errors = [...findClientErrors(imported, client, scopes, validator), ...(await findMetadataErrors(client))];
    const problems = unique(errors).map(({ member, reason }) =>
      atPointer(member === undefined ? '' : `/${member}`, reason === 'is missing' ? 'missing' : 'invalid', reason),
    );
    if (usesSecret(client.metadata) && client.secrets.length === 0)
      problems.push(atPointer('/client_secret', 'missing'));
    return { client, problems };
  }

  /** oidc-provider names only the first error, so the client is validated again without the members that have one. */
  async function findMetadataErrors(client: ClientState): Promise<readonly ClientMetadataError[]> {
    const errors: ClientMetadataError[] = [];
    // The schema checks the client id, which may be missing.
    let metadata: Record<string, unknown> = {
      ...providerMetadata({ ...client, secretHashes: [] }, scopes),
      client_id: 'client',
    };
    for (;;) {
      const error = await validator.validate(metadata as Parameters<ClientValidator['validate']>[0]);
      if (!error) return errors;
      const { member } = error;
      const isRepeated = errors.some((earlier) => earlier.member === member);
      if (!isRepeated) errors.push(error);
      if (isRepeated || member === undefined || !(member in metadata)) return errors;
      const { [member]: __, ...others } = metadata;
      metadata = others;
    }
  }

  /** Only the import command makes operators and changes them. Otherwise, an operator could make further operators. */
  function findForbidden(
    before: ClientState | undefined,
    changed: readonly string[],
    record: ImportedClient,
  ): readonly PointerError[] | undefined {
    if (!before || !isOperator(before.scope))
      return isOperator(record.scope)
        ? [atPointer('/scope', 'invalid', 'only the import command can give this scope')]
        : undefined;
    const leftOut = Object.keys(recordOf(before)).filter((field) => !(field in record));
    const fields = [...new Set([...changed, ...leftOut])].filter((field) => !['name', 'client_name'].includes(field));
    return fields.length === 0
      ? undefined
      : fields.map((field) => forbidden(`/${field}`, 'only the import command can change it'));
  }
}

const forbidden = (pointer: string, hint: string): PointerError =>
  atPointer(pointer, 'forbidden', hint, { code: 'CLIENT00002' });

const unique = (errors: readonly ClientMetadataError[]) => [
  ...new Map(errors.map((error) => [JSON.stringify(error), error])).values(),
];

const hashesOf = ({ metadata, secrets }: ClientState) =>
  usesSecret(metadata) &&
  secrets.length > 0 && {
    client_secret_hashes: secrets.map(({ sha256, expiresAt }) => ({
      sha256,
      ...(expiresAt !== null && { expiresAt }),
    })),
  };

/** A secret in the record replaces all stored secrets, and does not expire. */
function secretsOf({ client_secret, client_secret_hashes }: ImportedClient, before: ClientState | undefined) {
  if (client_secret !== undefined) {
    const sha256 = hashSecret(client_secret);
    return [{ sha256, expiresAt: null }];
  }
  if (client_secret_hashes === undefined) return before?.secrets ?? [];
  return client_secret_hashes.map(({ sha256, expiresAt }) => ({
    sha256,
    expiresAt: isoTimeOf(expiresAt),
  }));
}

/** The record with which `toStoredClient` gives the complete client. */
function complete(record: ImportedClient, stored: ClientState | undefined, keep: boolean): ImportedClient {
  if (!stored) return record;
  if (!keep) {
    const { kind, accountId } = stored;
    return record.kind === undefined && accountId === null ? { kind, ...record } : record;
  }
  const { name, ...kept } = withoutDerivedFields(stored);
  // A personal access token has one name, under two fields.
  const hasOtherName = kept.accountId !== undefined && record.client_name !== undefined;
  return { ...kept, ...(name !== undefined && !hasOtherName && { name }), ...record };
}

/** toStoredClient derives these fields. If they stayed, a client with its first redirect URI had no response type. */
const derivedFields = [['redirect_uris', 'response_types'], ['application_type'], ['token_endpoint_auth_method']];

function withoutDerivedFields(stored: ClientState): ImportedClient {
  let record: ImportedClient = recordOf(stored);
  for (const fields of derivedFields) {
    const shorter = Object.fromEntries(
      Object.entries(record as Fields).filter(([field]) => !fields.includes(field)),
    ) as ImportedClient;
    const { metadata } = toStoredClient(shorter, stored.secrets);
    if (isDeepStrictEqual(metadata, stored.metadata)) record = shorter;
  }
  return record;
}

/** The text of an entry has milliseconds only. */
const sameExpiry = "date_trunc('milliseconds', c.expires_at) is not distinct from excluded.expires_at";

async function writeClients(tx: Queryable, clients: readonly ClientState[]): Promise<void> {
  // Never a secret, only its hash, because PostgreSQL may log the values.
  await query(
    tx,
    `insert into client as c (id, kind, pkce, metadata, scope, account_id, name, access, facility_ids, disabled_at,
                              expires_at)
     select n.id, n.kind, n.pkce, n.metadata, n.scope, n."accountId", n.name, n.access, n."facilityIds",
            case when n.disabled then now() end, n."expiresAt"
       from jsonb_to_recordset($1::jsonb) as n (id text, kind text, pkce text, metadata jsonb, scope text,
              "accountId" text, name text, access text, "facilityIds" text[], disabled boolean, "expiresAt" timestamptz)
     on conflict (id) do update set kind = excluded.kind, pkce = excluded.pkce, metadata = excluded.metadata,
       scope = excluded.scope, account_id = excluded.account_id, name = excluded.name, access = excluded.access,
       facility_ids = excluded.facility_ids,
       disabled_at = case when excluded.disabled_at is not null then coalesce(c.disabled_at, now()) end,
       expires_at = case when ${sameExpiry} then c.expires_at else excluded.expires_at end,
       renewed_at = case when ${sameExpiry} then c.renewed_at else now() end,
       expiry_reminder = case when ${sameExpiry} then c.expiry_reminder end`,
    [jsonText(clients)],
  );
  const secrets = clients.flatMap(({ id, metadata, secrets: stored }) =>
    (usesSecret(metadata) ? stored : []).map((secret) => ({ client_id: id, ...secret })),
  );
  const record = `jsonb_to_recordset($1::jsonb) as n (client_id text, sha256 text, "expiresAt" timestamptz)`;
  await query(
    tx,
    `delete from client_secret s where s.client_id = any ($2) and not exists (
       select from ${record} where n.client_id = s.client_id and n.sha256 = s.secret_sha256)`,
    [jsonText(secrets), clients.map(({ id }) => id)],
  );
  await query(
    tx,
    `insert into client_secret as s (client_id, secret_sha256, expires_at)
     select client_id, sha256, "expiresAt" from ${record}
     on conflict (client_id, secret_sha256) do update set expires_at = excluded.expires_at
       where date_trunc('milliseconds', s.expires_at) is distinct from excluded.expires_at`,
    [jsonText(secrets)],
  );
}
