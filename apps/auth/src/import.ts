// How do facilities, accounts and clients get in? One transaction for the whole file: an upsert by id, all or nothing, one import at a
// time, the same file twice changes nothing (contract section 2).
import type { Database } from '@bay-booking/service/database';
import type { ClientCheck } from './clients/check.ts';
import { type ClientToStore, findClientFaults, readClient } from './clients/imported.ts';
import { providerMetadata } from './clients/metadata.ts';
import { type ImportDocument, type ImportedAccount, ImportFaults } from './import-document.ts';
import { storeAccount, storeClient } from './import-store.ts';
import type { ScopeTable } from './scopes.ts';

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

const lockKey = 4_206_912_023;

/** @throws {ImportFaults} naming the path of each fault, when nothing was changed */
export async function importDocument(
  { facilities = [], accounts = [], clients = [] }: ImportDocument,
  { db, scopes, checkClient }: ImportOptions,
): Promise<ImportSummary> {
  const toStore = clients.map(readClient);
  const faults = (
    await Promise.all(
      toStore.map(async (client, index) => {
        const path = `clients[${index}]`;
        const own = findClientFaults(client, path, scopes);
        if (own.length > 0) return own;
        const fault = await checkClient(providerMetadata(client, scopes.bookings));
        return fault === undefined ? [] : [placeFault(path, fault)];
      }),
    )
  ).flat();
  if (faults.length > 0) throw new ImportFaults(faults);

  await db.transaction(async (tx) => {
    await tx.raw('select pg_advisory_xact_lock(?)', [lockKey]);
    for (const { id, name } of facilities) {
      await tx.raw(
        'insert into facility (id, name) values (?, ?) on conflict (id) do update set name = excluded.name',
        [id, name],
      );
    }
    const found = [
      ...(await findAccountFaults(tx, accounts)),
      ...(await findMissing(tx, 'facility', facilityReferences(accounts))),
      ...(await findMissing(tx, 'account', accountReferences(toStore, accounts))),
    ];
    if (found.length > 0) throw new ImportFaults(found);
    for (const account of accounts) await storeAccount(tx, account);
    const secretless: string[] = [];
    for (const [index, client] of toStore.entries()) {
      if (!(await storeClient(tx, client))) secretless.push(`clients[${index}].client_secret: is missing`);
    }
    if (secretless.length > 0) throw new ImportFaults(secretless);
  });
  return { facilities: facilities.length, accounts: accounts.length, clients: clients.length };
}

/** `redirect_uris must only …` → `clients[0].redirect_uris: must only …` */
function placeFault(path: string, fault: string): string {
  const [, field, rest] = /^([a-z]+(?:_[a-z]+)+) (.*)$/s.exec(fault) ?? [];
  return field ? `${path}.${field}: ${rest}` : `${path}: ${fault}`;
}

type Reference = { readonly path: string; readonly id: string };

const facilityReferences = (accounts: readonly ImportedAccount[]): Reference[] =>
  accounts.flatMap(({ memberships = [] }, index) =>
    memberships.map(({ facilityId }, place) => ({
      path: `accounts[${index}].memberships[${place}].facilityId`,
      id: facilityId,
    })),
  );

/** Those that are not met by the file itself. */
function accountReferences(clients: readonly ClientToStore[], accounts: readonly ImportedAccount[]): Reference[] {
  const inFile = new Set(accounts.map(({ id }) => id));
  return clients.flatMap(({ accountId }, index) =>
    accountId === null || inFile.has(accountId) ? [] : [{ path: `clients[${index}].accountId`, id: accountId }],
  );
}

async function findMissing(tx: Database, table: 'facility' | 'account', references: readonly Reference[]) {
  const { rows } = await tx.raw<{ rows: { id: string }[] }>(`select id from ${table} where id = any (?)`, [
    references.map(({ id }) => id) as never,
  ]);
  const known = new Set(rows.map(({ id }) => id));
  return references.filter(({ id }) => !known.has(id)).map(({ path, id }) => `${path}: there is no ${table} ${id}`);
}

async function findAccountFaults(tx: Database, accounts: readonly ImportedAccount[]): Promise<string[]> {
  const { rows } = await tx.raw<{ rows: { id: string; username: string }[] }>(
    'select id, lower(username) as username from account where lower(username) = any (select lower(x) from unnest(?::text[]) x)',
    [accounts.map(({ username }) => username) as never],
  );
  return accounts.flatMap(({ id, username }, index) =>
    rows.some((row) => row.username === username.toLowerCase() && row.id !== id)
      ? [`accounts[${index}].username: belongs to another account`]
      : [],
  );
}
