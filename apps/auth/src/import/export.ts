// Creates an import file of everything, which changes nothing when it is imported.
import type { Database } from '@bay-booking/service/database/database';
import type { AuditEvent } from '../audit/audit.ts';
import { usesSecret } from '../clients/metadata.ts';
import type { ImportDocument } from './document.ts';
import { accountEntry, type ClientState, clientEntry } from './entries.ts';
import { type Selection, selectAccounts, selectClients, selectFacilities } from './find-store.ts';

/** The audit event of an export with hashes. */
export const credentialsExported: AuditEvent = { kind: 'credentials.exported' };

const everything: Selection = { where: 'true', values: [] };

/** `withHashes` adds the hashes of passwords and secrets, to move them to another database. */
export async function exportDocument(db: Database, { withHashes }: { withHashes: boolean }): Promise<ImportDocument> {
  const [facilities, accounts, clients] = await Promise.all([
    selectFacilities(db, everything),
    selectAccounts(db, everything),
    selectClients(db, everything),
  ]);
  return {
    facilities: [...facilities],
    accounts: accounts.map((account) => ({
      ...accountEntry(account),
      ...(withHashes && account.passwordHash !== null && { passwordHash: account.passwordHash }),
    })),
    clients: clients.map((client) => ({ ...clientEntry(client), ...(withHashes && hashesOf(client)) })),
  };
}

const hashesOf = ({ client, secrets }: ClientState) =>
  usesSecret(client.metadata) && secrets.length > 0
    ? {
        client_secret_hashes: secrets.map(({ sha256, expiresAt }) => ({
          sha256,
          ...(expiresAt !== null && { expiresAt }),
        })),
      }
    : {};
