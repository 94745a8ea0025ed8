// Compares facilities, accounts and clients with the stored ones, and writes the differences in one transaction. The
// import command and the management API use it. If an entry has an error, nothing is written.
import { ImportError } from '@bay-booking/common/import-document';
import { type Database, type Queryable, transaction } from '@bay-booking/service/database/database';
import { hashPassword, verifyPassword } from '../accounts/passwords.ts';
import { type AuditEvent, storeEvents } from '../audit/audit.ts';
import { usesSecret } from '../clients/metadata.ts';
import { hasAuthenticatorApp, type ImportedApp, importAuthenticatorApp } from '../factors/store.ts';
import { providerMetadata } from '../oidc/clients/metadata.ts';
import type { ClientMetadataError, ClientValidator } from '../oidc/clients/validation.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import { hashSecret } from '../secrets.ts';
import { recordClientLifetimes } from '../signing-keys/store.ts';
import type { ImportDocument, ImportedAccount, ImportedClient, ImportedFacility } from './document.ts';
import {
  type AccountState,
  accountEntry,
  type ClientState,
  changedFields,
  clientEntry,
  completeAccount,
  completeClient,
  completeFacility,
  type MissingFields,
} from './entries.ts';
import { eventsOf } from './events.ts';
import {
  findDeletedAccounts,
  findExistingIds,
  findTakenUsernames,
  type Kind,
  selectAccounts,
  selectClients,
  selectFacilities,
  withIds,
} from './find-store.ts';
import { findHighSecurityErrors } from './high-security.ts';
import { type ClientToStore, findClientErrors, findUnknownFields, toStoredClient } from './imported-client.ts';
import { findOperatorErrors } from './operator-scopes.ts';
import { endAccess, lockImports, lockMembers, writeAccounts, writeClients, writeFacilities } from './store.ts';

export interface ImportOptions {
  readonly db: Database;
  readonly scopes: ScopeTable;
  readonly clientValidator: ClientValidator;
  /** For the secrets of authenticator apps. */
  readonly encryptionKeys?: readonly Buffer[] | undefined;
}

export interface PlanOptions extends Omit<ImportOptions, 'db'> {
  /** What a field gets that an entry leaves out. */
  readonly missing: MissingFields;
  /** Whether entries may give a client the scopes of the management APIs. */
  readonly mayGiveScopes: boolean;
}

/** An entry with its path in the document, such as `/accounts/0`. */
export interface Placed<Entry> {
  readonly path: string;
  readonly entry: Entry;
}

export interface PlacedEntries {
  readonly facilities: readonly Placed<ImportedFacility>[];
  readonly accounts: readonly Placed<ImportedAccount>[];
  readonly clients: readonly Placed<ImportedClient>[];
  /** Entries that are not compared because they have errors. Others may refer to them. */
  readonly known?: { readonly facilities: readonly string[]; readonly accounts: readonly string[] };
}

interface StepOf<K extends Kind, State> {
  readonly kind: K;
  readonly id: string;
  readonly path: string;
  readonly before: State | undefined;
  readonly after: State;
  /** The names of the fields that change. Empty: the entry is equal to what is stored. */
  readonly changed: readonly string[];
}

export type FacilityStep = StepOf<'facility', Required<ImportedFacility>>;
/** `newPassword` is hashed when it is written. */
export type AccountStep = StepOf<'account', AccountState> & {
  readonly newPassword: string | undefined;
  readonly newApp: ImportedApp | undefined;
};
export type ClientStep = StepOf<'client', ClientState>;
export type Step = FacilityStep | AccountStep | ClientStep;

export interface Plan {
  readonly facilities: readonly FacilityStep[];
  readonly accounts: readonly AccountStep[];
  readonly clients: readonly ClientStep[];
  /** The ids of accounts of the document that were deleted. They and their tokens are left out. */
  readonly skipped: readonly string[];
  /** Each begins with the path of the invalid value. */
  readonly errors: readonly string[];
}

export const placed = <Entry>(section: string, entries: readonly Entry[] = []): Placed<Entry>[] =>
  entries.map((entry, index) => ({ path: `/${section}/${index}`, entry }));

export const placedEntries = ({ facilities, accounts, clients }: ImportDocument): PlacedEntries => ({
  facilities: placed('facilities', facilities),
  accounts: placed('accounts', accounts),
  clients: placed('clients', clients),
});

export const isCreatedOrChanged = ({ before, changed }: Step): boolean => before === undefined || changed.length > 0;

/** @throws {ImportError} if the document has errors. Each begins with the path of the invalid value. */
export async function importDocument(document: ImportDocument, { db, ...options }: ImportOptions) {
  const { facilities, accounts, clients, skipped } = await transaction(db, async (tx) => {
    await lockImports(tx);
    const plan = await planImport(tx, placedEntries(document), { ...options, missing: 'keep', mayGiveScopes: true });
    await writePlan(tx, plan, 'import');
    return plan;
  });
  return { skipped, facilities: facilities.length, accounts: accounts.length, clients: clients.length };
}

/** The caller holds the lock of `lockImports`. Locks the accounts of the entries. */
export async function planImport(tx: Queryable, entries: PlacedEntries, options: PlanOptions): Promise<Plan> {
  const { facilities, accounts, clients, known = { facilities: [], accounts: [] } } = entries;
  const accountIds = accounts.map(({ entry }) => entry.id);
  const facilityReferences = [...accounts.flatMap(referencesOfMemberships), ...clients.flatMap(referencesOfToken)];
  await lockMembers(
    tx,
    accountIds,
    facilityReferences.map(({ id }) => id),
  );
  const [storedFacilities, storedAccounts, storedClients, deleted] = await Promise.all([
    selectFacilities(
      tx,
      withIds(
        'facility',
        facilities.map(({ entry }) => entry.id),
      ),
    ),
    selectAccounts(tx, withIds('account', accountIds)),
    selectClients(
      tx,
      withIds(
        'client',
        clients.map(({ entry }) => entry.client_id),
      ),
    ),
    // Their ids are never used again. A file that still contains them must not stop working.
    findDeletedAccounts(tx, [...accountIds, ...clients.flatMap(({ entry: { accountId = [] } }) => accountId)]),
  ]);
  const isLeft = ({ entry }: Placed<ImportedClient>) => entry.accountId === undefined || !deleted.has(entry.accountId);
  const livingAccounts = accounts.filter(({ entry }) => !deleted.has(entry.id));
  const facilityById = byId(storedFacilities, ({ id }) => id);
  const accountById = byId(storedAccounts, ({ id }) => id);
  const clientById = byId(storedClients, ({ client }) => client.id);

  const plannedClients = await Promise.all(
    clients.filter(isLeft).map((client) => planClient(client, clientById.get(client.entry.client_id), options)),
  );
  const taken = await findTakenUsernames(
    tx,
    livingAccounts.map(({ entry }) => entry),
  );
  const accountReferences = plannedClients.flatMap(({ step: { path, after } }) =>
    after.client.accountId === null ? [] : [{ path: `${path}/accountId`, id: after.client.accountId }],
  );
  const errors = [
    ...plannedClients.flatMap((client) => client.errors),
    ...livingAccounts.filter(({ entry }) => taken.has(entry.id)).map(({ path }) => usernameTaken(path)),
    ...(options.encryptionKeys ? [] : livingAccounts.filter(({ entry }) => entry.totpSecret !== undefined)).map(
      ({ path }) => `${path}/totpSecret: needs KEY_ENCRYPTION_KEY`,
    ),
    ...(await findMissing(tx, 'facility', facilityReferences, [...idsOf(facilities), ...known.facilities])),
    ...(await findMissing(tx, 'account', accountReferences, [...idsOf(livingAccounts), ...known.accounts])),
    ...plannedClients.flatMap((client) => client.lateErrors),
  ];
  return {
    facilities: facilities.map(({ path, entry }) => planFacility(path, entry, facilityById.get(entry.id), options)),
    accounts: await inChunks(livingAccounts, (account) =>
      planAccount(tx, account, accountById.get(account.entry.id), options),
    ),
    clients: plannedClients.map(({ step }) => step),
    skipped: accountIds.filter((id) => deleted.has(id)),
    errors,
  };
}

function planFacility(
  path: string,
  entry: ImportedFacility,
  before: Required<ImportedFacility> | undefined,
  { missing }: PlanOptions,
): FacilityStep {
  const after = completeFacility(entry, before, missing);
  return { kind: 'facility', id: entry.id, path, before, after, changed: changedFields(before, after) };
}

async function planAccount(
  tx: Queryable,
  { path, entry }: Placed<ImportedAccount>,
  before: AccountState | undefined,
  { missing, encryptionKeys }: PlanOptions,
): Promise<AccountStep> {
  const completed = completeAccount(entry, before, missing);
  const { id, password, passwordHash = before?.passwordHash ?? null } = entry;
  const after = { ...completed, passwordHash };
  const isSame =
    password === undefined || (before?.passwordHash && (await verifyPassword(before.passwordHash, password)));
  const newPassword = isSame ? undefined : password;
  const changed = changedFields(before && accountEntry(before), accountEntry(after));
  if (newPassword !== undefined || passwordHash !== (before?.passwordHash ?? null)) changed.push('password');
  const { totpSecret: secret, recoveryCodes = [] } = entry;
  const app = secret !== undefined && encryptionKeys ? { secret, recoveryCodes, encryptionKeys } : undefined;
  const newApp = app && !(await hasAuthenticatorApp(tx, id, app)) ? app : undefined;
  if (newApp) changed.push('totpSecret');
  return { kind: 'account', id, path, before, after, changed, newPassword, newApp };
}

interface PlannedClient {
  readonly step: ClientStep;
  readonly errors: readonly string[];
  /** An error that is only shown after those of other entries. */
  readonly lateErrors: readonly string[];
}

async function planClient(
  { path, entry }: Placed<ImportedClient>,
  before: ClientState | undefined,
  { scopes, clientValidator, missing, mayGiveScopes }: PlanOptions,
): Promise<PlannedClient> {
  const imported = completeClient(entry, before, missing);
  const hasSecret = entry.client_secret_hashes !== undefined || (before?.secrets.length ?? 0) > 0;
  const client = toStoredClient(imported, hasSecret);
  const secrets = secretsOf(entry, before);
  const expiresAt = client.accountId !== null && imported.expiresAt ? new Date(imported.expiresAt).toISOString() : null;
  const after: ClientState = { client, disabled: imported.disabled ?? false, expiresAt, secrets };
  const changed = changedFields(before && clientEntry(before), clientEntry(after));
  const needsSecret = usesSecret(client.metadata);
  if (needsSecret && changedFields(before?.secrets ?? [], secrets).length > 0) changed.push('client_secret');
  const errors = [
    ...findUnknownFields(entry, clientValidator),
    ...(await findMetadataErrors(imported, client, scopes, clientValidator)),
    ...findOperatorErrors(imported, client, { scopes, stored: before?.client, mayGiveScopes }),
    ...(imported.expiresAt !== undefined && client.accountId === null
      ? [{ member: 'expiresAt', reason: 'is only for a client with accountId' }]
      : []),
  ];
  return {
    step: { kind: 'client', id: client.id, path, before, after, changed },
    errors: errors.map(({ member, reason }) => `${path}${member ? `/${member}` : ''}: ${reason}`),
    lateErrors: needsSecret && secrets.length === 0 ? [`${path}/client_secret: is missing`] : [],
  };
}

async function findMetadataErrors(
  imported: ImportedClient,
  client: ClientToStore,
  scopes: ScopeTable,
  clientValidator: ClientValidator,
): Promise<ClientMetadataError[]> {
  const metadataError = await clientValidator.validate(providerMetadata(client, scopes));
  return [
    ...findClientErrors(imported, client, scopes),
    ...findHighSecurityErrors(imported, client, clientValidator),
    ...(metadataError ? [metadataError] : []),
  ];
}

/** A secret in the entry replaces all stored secrets, and does not expire. */
function secretsOf({ client_secret, client_secret_hashes }: ImportedClient, before: ClientState | undefined) {
  if (client_secret !== undefined) return [{ sha256: hashSecret(client_secret), expiresAt: null }];
  if (client_secret_hashes === undefined) return before?.secrets ?? [];
  return client_secret_hashes.map(({ sha256, expiresAt }) => ({
    sha256,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
  }));
}

/**
 * `operator` is the client that makes the changes, or `import`. Returns the events, which are stored.
 * @throws {ImportError}
 */
export async function writePlan(tx: Queryable, plan: Plan, operator: string): Promise<readonly AuditEvent[]> {
  throwIfAny(plan.errors);
  const accounts = plan.accounts.filter(isCreatedOrChanged);
  const clients = plan.clients.filter(isCreatedOrChanged);
  await writeFacilities(
    tx,
    plan.facilities.filter(isCreatedOrChanged).map(({ after }) => after),
  );
  const written = await inChunks(accounts, async ({ before, after, newPassword }) => ({
    before,
    after: newPassword === undefined ? after : { ...after, passwordHash: await hashPassword(newPassword) },
  }));
  // A registration can take the user name after the plan was made.
  const missing = await writeAccounts(tx, written);
  throwIfAny(accounts.filter(({ id }) => missing.includes(id)).map(({ path }) => usernameTaken(path)));
  for (const { before, after } of written) {
    if (!before) continue;
    const newPassword = before.passwordHash !== after.passwordHash;
    if (newPassword || (after.disabled && !before.disabled)) await endAccess(tx, after, { newPassword });
  }
  for (const { id, newApp } of accounts) if (newApp) await importAuthenticatorApp(tx, id, newApp);
  // The signing keys remember the longest lifetime of access tokens, before and after the change.
  if (clients.length > 0) {
    await recordClientLifetimes(tx);
    await writeClients(
      tx,
      clients.map(({ after }) => after),
    );
    await recordClientLifetimes(tx);
  }
  const events = eventsOf({ ...plan, accounts, clients }, operator);
  if (events.length > 0) await storeEvents(tx, events);
  return events;
}

function throwIfAny(errors: readonly string[]): void {
  if (errors.length > 0) throw new ImportError(errors);
}

/** Only a few passwords wait to be hashed at a time, so that people can sign in during an import. */
async function inChunks<From, To>(items: readonly From[], work: (item: From) => Promise<To>): Promise<To[]> {
  const results: To[] = [];
  for (let start = 0; start < items.length; start += 4) {
    results.push(...(await Promise.all(items.slice(start, start + 4).map(work))));
  }
  return results;
}

const byId = <State>(states: readonly State[], idOf: (state: State) => string): ReadonlyMap<string, State> =>
  new Map(states.map((state) => [idOf(state), state]));

const idsOf = (entries: readonly Placed<{ readonly id: string }>[]): string[] => entries.map(({ entry }) => entry.id);

interface Reference {
  readonly path: string;
  readonly id: string;
}

const referencesOfMemberships = ({ path, entry: { memberships = [] } }: Placed<ImportedAccount>): Reference[] =>
  memberships.map(({ facilityId }, index) => ({ path: `${path}/memberships/${index}/facilityId`, id: facilityId }));

const referencesOfToken = ({ path, entry: { facilities = [] } }: Placed<ImportedClient>): Reference[] =>
  facilities.map((id, index) => ({ path: `${path}/facilities/${index}`, id }));

async function findMissing(
  tx: Queryable,
  table: 'facility' | 'account',
  references: readonly Reference[],
  inDocument: readonly string[],
): Promise<string[]> {
  const ids = references.map(({ id }) => id);
  const existing = new Set([...(await findExistingIds(tx, table, ids)), ...inDocument]);
  return references.filter(({ id }) => !existing.has(id)).map(({ path, id }) => `${path}: there is no ${table} ${id}`);
}

const usernameTaken = (path: string): string => `${path}/username: belongs to another account`;
