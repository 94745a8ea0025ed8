// How do facilities, accounts and clients get in? One transaction for the whole file: an upsert by id, all or nothing, one import at a
// time, the same file twice changes nothing (contract section 2).
import type { Database } from '@bay-booking/service/database/database';
import { type ClientToStore, findClientFaults, readClient } from '../clients/imported-client.ts';
import { providerMetadata } from '../oidc/client-metadata.ts';
import type { ClientCheck } from '../oidc/client-validation.ts';
import type { ScopeTable } from '../oidc/scopes.ts';
import { type ImportDocument, ImportError, type ImportedAccount } from './document.ts';
import {
  accountsNamed,
  confidentialAmong,
  giveUpNames,
  knownIds,
  storeAccount,
  storeClient,
  storeFacility,
  waitForOtherImports,
} from './store.ts';

export interface ImportOptions {
  readonly db: Database;
  readonly scopes: ScopeTable;
  readonly checkClient: ClientCheck;
}

export interface ImportSummary {
  readonly facilities: number;
  readonly accounts: number;
  readonly clients: number;
}

/** @throws {ImportError} naming the path of each fault, when nothing was changed */
export async function importDocument(
  { facilities = [], accounts = [], clients = [] }: ImportDocument,
  { db, scopes, checkClient }: ImportOptions,
): Promise<ImportSummary> {
  const faultsOfClient = async (client: ClientToStore, index: number): Promise<string[]> => {
    const path = `/clients/${index}`;
    const own = findClientFaults(client, path, scopes);
    if (own.length > 0) return own;
    const fault = await checkClient(providerMetadata(client, scopes.bookings));
    return fault === undefined ? [] : [placeFault(path, fault)];
  };

  await db.transaction(async (tx) => {
    await waitForOtherImports(tx);
    const ids = clients.map(({ client_id }) => client_id);
    const confidential = await confidentialAmong(tx, ids);
    const toStore = clients.map((client) => readClient(client, confidential.has(client.client_id)));
    for (const facility of facilities) await storeFacility(tx, facility);
    await giveUpNames(tx, accounts);
    const found = [
      ...(await Promise.all(toStore.map(faultsOfClient))).flat(),
      ...(await findAccountFaults(tx, accounts)),
      ...(await findMissing(tx, 'facility', facilityReferences(accounts))),
      ...(await findMissing(tx, 'account', accountReferences(toStore, accounts))),
    ];
    if (found.length > 0) throw new ImportError(found);
    for (const account of accounts) await storeAccount(tx, account);
    const secretless: string[] = [];
    for (const [index, client] of toStore.entries()) {
      if (!(await storeClient(tx, client))) secretless.push(`/clients/${index}/client_secret: is missing`);
    }
    if (secretless.length > 0) throw new ImportError(secretless);
  });
  return { facilities: facilities.length, accounts: accounts.length, clients: clients.length };
}

/** `redirect_uris must only …` → `/clients/0/redirect_uris: must only …` */
function placeFault(path: string, fault: string): string {
  const [, field, rest] = /^([a-z]+(?:_[a-z]+)+) (.*)$/s.exec(fault) ?? [];
  return field ? `${path}/${field}: ${rest}` : `${path}: ${fault}`;
}

type Reference = { readonly path: string; readonly id: string };

const facilityReferences = (accounts: readonly ImportedAccount[]): Reference[] =>
  accounts.flatMap(({ memberships = [] }, index) =>
    memberships.map(({ facilityId }, place) => ({
      path: `/accounts/${index}/memberships/${place}/facilityId`,
      id: facilityId,
    })),
  );

/** Those that are not met by the file itself. */
function accountReferences(clients: readonly ClientToStore[], accounts: readonly ImportedAccount[]): Reference[] {
  const inFile = new Set(accounts.map(({ id }) => id));
  return clients.flatMap(({ accountId }, index) =>
    accountId === null || inFile.has(accountId) ? [] : [{ path: `/clients/${index}/accountId`, id: accountId }],
  );
}

async function findMissing(tx: Database, table: 'facility' | 'account', references: readonly Reference[]) {
  const known = await knownIds(
    tx,
    table,
    references.map(({ id }) => id),
  );
  return references.filter(({ id }) => !known.has(id)).map(({ path, id }) => `${path}: there is no ${table} ${id}`);
}

async function findAccountFaults(tx: Database, accounts: readonly ImportedAccount[]): Promise<string[]> {
  const named = await accountsNamed(
    tx,
    accounts.map(({ username }) => username),
  );
  return accounts.flatMap(({ id, username }, index) =>
    named.some((known) => known.username === username && known.id !== id)
      ? [`/accounts/${index}/username: belongs to another account`]
      : [],
  );
}
