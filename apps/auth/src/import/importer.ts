// Imports facilities, accounts and clients in one transaction. If the file has an error, nothing is imported.
import { ImportError } from '@bay-booking/common/import-document';
import { type Database, type Queryable, transaction } from '@bay-booking/service/database/database';
import { importAuthenticatorApp } from '../factors/store.ts';
import { providerMetadata } from '../oidc/clients/metadata.ts';
import type { ClientValidator } from '../oidc/clients/validation.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import { recordClientLifetimes } from '../signing-keys/store.ts';
import type { ImportDocument, ImportedAccount, ImportedClient } from './document.ts';
import { findHighSecurityErrors } from './high-security.ts';
import { type ClientToStore, findClientErrors, findUnknownFields, toStoredClient } from './imported-client.ts';
import {
  findByUsernames,
  findClientsWithSecret,
  findDeletedAccounts,
  findExistingIds,
  lockImports,
  releaseUsernames,
  storeAccount,
  storeClient,
  storeFacility,
} from './store.ts';

export interface ImportOptions {
  readonly db: Database;
  readonly scopes: ScopeTable;
  readonly clientValidator: ClientValidator;
  /** For the secrets of authenticator apps. */
  readonly encryptionKeys?: readonly Buffer[] | undefined;
}

/** @throws {ImportError} if the document has errors. Each begins with the path of the invalid value. */
export async function importDocument(
  { facilities = [], accounts = [], clients = [] }: ImportDocument,
  { db, scopes, clientValidator, encryptionKeys }: ImportOptions,
) {
  const findErrors = async (imported: ImportedClient, client: ClientToStore, index: number): Promise<string[]> => {
    const metadataError = await clientValidator.validate(providerMetadata(client, scopes));
    const errors = [
      ...findUnknownFields(imported, clientValidator),
      ...findClientErrors(imported, client, scopes),
      ...findHighSecurityErrors(imported, client, clientValidator),
      ...(metadataError ? [metadataError] : []),
    ];
    return errors.map(({ member, reason }) => `/clients/${index}${member ? `/${member}` : ''}: ${reason}`);
  };

  const skipped = await transaction(db, async (tx) => {
    await lockImports(tx);
    // Their ids are never used again. A file that still contains them must not stop working.
    const deleted = await findDeletedAccounts(
      tx,
      accounts.map(({ id }) => id),
    );
    const idsWithSecret = await findClientsWithSecret(
      tx,
      clients.map(({ client_id }) => client_id),
    );
    const storedClients = clients.map((client) => toStoredClient(client, idsWithSecret.has(client.client_id)));
    // Accounts of the same file may refer to the facilities. An error rolls the transaction back.
    for (const facility of facilities) await storeFacility(tx, facility);
    // Two accounts in the file may exchange their user names.
    await releaseUsernames(tx, accounts);
    const clientErrors = await Promise.all(
      storedClients.map((client, index) => findErrors(clients[index] as ImportedClient, client, index)),
    );
    throwIfAny([
      ...clientErrors.flat(),
      ...(await findTakenUsernames(tx, accounts, deleted)),
      ...(await findMissing(tx, 'facility', [...facilityReferences(accounts), ...tokenFacilities(clients)])),
      ...(await findMissing(tx, 'account', accountReferences(storedClients, accounts))),
    ]);
    const errors: string[] = [];
    for (const [index, account] of accounts.entries()) {
      // A registration can take the user name after the check above.
      if (deleted.has(account.id)) continue;
      if (!(await storeAccount(tx, account))) errors.push(usernameTaken(index));
      else if (account.totpSecret === undefined) continue;
      else if (!encryptionKeys) errors.push(`/accounts/${index}/totpSecret: needs KEY_ENCRYPTION_KEY`);
      else await importAuthenticatorApp(tx, account.id, { ...account, secret: account.totpSecret, encryptionKeys });
    }
    // The signing keys remember the longest lifetime of access tokens, before and after the change.
    await recordClientLifetimes(tx);
    for (const [index, client] of storedClients.entries()) {
      const isSkipped = client.accountId !== null && deleted.has(client.accountId);
      if (!isSkipped && !(await storeClient(tx, client))) errors.push(`/clients/${index}/client_secret: is missing`);
    }
    await recordClientLifetimes(tx);
    throwIfAny(errors);
    return [...deleted];
  });
  return {
    skipped,
    facilities: facilities.length,
    accounts: accounts.length - skipped.length,
    clients: clients.length,
  };
}

function throwIfAny(errors: readonly string[]): void {
  if (errors.length > 0) throw new ImportError(errors);
}

interface Reference {
  readonly path: string;
  readonly id: string;
}

const facilityReferences = (accounts: readonly ImportedAccount[]): Reference[] =>
  accounts.flatMap(({ memberships = [] }, index) =>
    memberships.map(({ facilityId }, position) => ({
      path: `/accounts/${index}/memberships/${position}/facilityId`,
      id: facilityId,
    })),
  );

const tokenFacilities = (clients: readonly ImportedClient[]): Reference[] =>
  clients.flatMap(({ facilities = [] }, index) =>
    facilities.map((id, position) => ({ path: `/clients/${index}/facilities/${position}`, id })),
  );

function accountReferences(clients: readonly ClientToStore[], accounts: readonly ImportedAccount[]): Reference[] {
  const inFile = new Set(accounts.map(({ id }) => id));
  return clients.flatMap(({ accountId }, index) =>
    accountId === null || inFile.has(accountId) ? [] : [{ path: `/clients/${index}/accountId`, id: accountId }],
  );
}

async function findMissing(
  tx: Queryable,
  table: 'facility' | 'account',
  references: readonly Reference[],
): Promise<string[]> {
  const ids = references.map(({ id }) => id);
  const existing = await findExistingIds(tx, table, ids);
  return references.filter(({ id }) => !existing.has(id)).map(({ path, id }) => `${path}: there is no ${table} ${id}`);
}

async function findTakenUsernames(
  tx: Queryable,
  accounts: readonly ImportedAccount[],
  deleted: ReadonlySet<string>,
): Promise<string[]> {
  const usernames = accounts.map(({ username }) => username);
  const owners = await findByUsernames(tx, usernames);
  return accounts.flatMap(({ id, username }, index) =>
    !deleted.has(id) && owners.some((owner) => owner.username === username && owner.id !== id)
      ? [usernameTaken(index)]
      : [],
  );
}

const usernameTaken = (index: number): string => `/accounts/${index}/username: belongs to another account`;
