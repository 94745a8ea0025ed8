// The record client: its metadata, its own settings, and the personal access tokens of service accounts.

import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { textSchema } from '@bay-booking/common/text';
import { atPointer, type PointerError } from '@bay-booking/common/validation';
import { commandNames } from '@bay-booking/records/commands';
import {
  createReads,
  outcomeOf,
  type PrepareContext,
  type RecordKind,
  type RecordOutcome,
  type Stored,
} from '@bay-booking/records/record';
import { query } from '@bay-booking/service/database/database';
import { findDeleted, findDisabled, findMissing, isoTime, skipped, storeOperatorEvents } from '../../audit/store.ts';
import { type ClientState, usesSecret } from '../../clients/metadata.ts';
import { findDisabledEverywhere } from '../../clients/personal-access-token-store.ts';
import { clientColumns, selectClients, writeClients } from '../../clients/store.ts';
import { recordClientLifetimes } from '../../signing-keys/store.ts';
import type { ScopeTable } from '../scopes.ts';
import { providerMetadata } from './registered-client.ts';
import { findClientErrors, operatorScopes } from './rules.ts';
import {
  clientRecordOf,
  clientSchema,
  completeClient,
  type ImportedClient,
  secretHashesOf,
  secretsOf,
  toStoredClient,
} from './stored-client.ts';
import type { ClientValidator } from './validation.ts';

const rows = {
  columns: clientColumns,
  shown: `json_build_object('secretExpiresAt', (
    select ${isoTime('max(s.expires_at)')} from client_secret s where s.client_id = c.id))`,
  from: 'from client c where true',
  orderBy: 'c.id',
  byKey: 'c.id = $1',
  conditions: { kind: 'c.kind = {kind}', accountId: 'c.account_id = {accountId}' },
};

const idOf = ({ client_id: id }: ImportedClient): string => id;
const read = (state: ClientState): Stored<ImportedClient> => ({
  record: clientRecordOf(state),
  secrets: secretHashesOf(state),
});

type ClientOutcome = RecordOutcome<ImportedClient> & { readonly client: ClientState };

export function createClientKind(
  scopes: ScopeTable,
  validator: ClientValidator,
): RecordKind<ImportedClient, ClientOutcome> {
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

    async prepare(db, records, context) {
      const stored = await selectClients(db, records.map(idOf));
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

    async compare(tx, records, context) {
      const stored = await selectClients(tx, records.map(idOf));
      const accountIds = records.flatMap(({ accountId = [] }) => accountId);
      const facilityIds = records.flatMap(({ facilities = [] }) => facilities);
      const deleted = await findDeleted(tx, 'account', accountIds);
      const noAccounts = await findMissing(tx, 'account', accountIds);
      const noFacilities = await findMissing(tx, 'facility', facilityIds);
      const disabledFacilities = await findDisabled(tx, facilityIds);
      return Promise.all(
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
          const outcome = outcomeOf(before && read(before), clientRecordOf(client), problems, changed);
          if (context.keepsOmitted && deleted.has(record.accountId ?? '')) return { ...outcome, ...skipped, client };
          const forbidden = context.isCommand ? undefined : findForbidden(before, outcome.changed, record);
          return { ...outcome, problems: forbidden ?? problems, client };
        }),
      );
    },

    async write(tx, outcomes, context) {
      const clients = outcomes.map(({ client }) => client);
      // The signing keys remember the longest lifetime of access tokens, before and after the change.
      await recordClientLifetimes(tx);
      await writeClients(tx, clients);
      await recordClientLifetimes(tx);
      const events = outcomes.map(({ before, client: { id: clientId, accountId }, changed }) => ({
        kind: before ? 'client.changed' : 'client.created',
        clientId,
        ...(accountId !== null && { accountId }),
        detail: { changed },
      }));
      await storeOperatorEvents(tx, context, events);
    },

    async verify(tx, outcomes) {
      const created = outcomes
        .filter(({ before, after }) => !before && after.accountId)
        .map(({ after }) => idOf(after));
      const disabled = created.length > 0 ? await findDisabledEverywhere(tx, created) : new Set<string>();
      const hint = 'every facility of the account is disabled';
      const problem = atPointer('/accountId', 'conflict', hint, { code: 'FACILITY00001' });
      return outcomes.map(({ after }) => (disabled.has(idOf(after)) ? [problem] : []));
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
  async function judge(record: ImportedClient, before: ClientState | undefined, { keepsOmitted }: PrepareContext) {
    const { secretExpiresAt: _, ...given } = record;
    const imported = completeClient(given, before, keepsOmitted);
    const client = toStoredClient(imported, secretsOf(given, before));
    // The schema checks the client id, which may be missing.
    const metadata = { ...providerMetadata({ ...client, secretHashes: [] }, scopes), client_id: 'client' };
    const errors = [
      ...findClientErrors(imported, client, scopes, validator),
      ...(await validator.findErrors(metadata)),
    ];
    const unique = new Map(errors.map((error) => [JSON.stringify(error), error])).values();
    const problems = [...unique].map(({ member, reason }) =>
      atPointer(member === undefined ? '' : `/${member}`, reason === 'is missing' ? 'missing' : 'invalid', reason),
    );
    if (usesSecret(client.metadata) && client.secrets.length === 0)
      problems.push(atPointer('/client_secret', 'missing'));
    return { client, problems };
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
    const leftOut = Object.keys(clientRecordOf(before)).filter((field) => !(field in record));
    const fields = [...new Set([...changed, ...leftOut])].filter((field) => !['name', 'client_name'].includes(field));
    return fields.length === 0
      ? undefined
      : fields.map((field) => forbidden(`/${field}`, 'only the import command can change it'));
  }
}

const forbidden = (pointer: string, hint: string): PointerError =>
  atPointer(pointer, 'forbidden', hint, { code: 'CLIENT00002' });
