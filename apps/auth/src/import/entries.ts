// Converts stored facilities, accounts and clients to entries of an import file, and completes entries that leave
// fields out.
import { isDeepStrictEqual } from 'node:util';
import type { Membership } from '../facilities/roles.ts';
import type { ImportedAccount, ImportedClient, ImportedFacility } from './document.ts';
import { type ClientToStore, toStoredClient } from './imported-client.ts';

/** Whether a field that an entry leaves out keeps its stored value, or gets its default. */
export type MissingFields = 'keep' | 'default';

export interface AccountState {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly kind: 'user' | 'service';
  readonly roles: readonly string[];
  readonly disabled: boolean;
  /** In the order of the facilities' ids. */
  readonly memberships: readonly Membership[];
  readonly passwordHash: string | null;
}

export interface StoredSecret {
  readonly sha256: string;
  readonly expiresAt: string | null;
}

export interface ClientState {
  readonly client: ClientToStore;
  readonly disabled: boolean;
  readonly expiresAt: string | null;
  readonly secrets: readonly StoredSecret[];
}

export function completeFacility(
  { id, name, timeZone }: ImportedFacility,
  stored: ImportedFacility | undefined,
  missing: MissingFields,
): Required<ImportedFacility> {
  return { id, name, timeZone: timeZone ?? (missing === 'keep' ? stored?.timeZone : undefined) ?? 'UTC' };
}

/** The password is left as it is stored. */
export function completeAccount(
  entry: ImportedAccount,
  stored: AccountState | undefined,
  missing: MissingFields,
): AccountState {
  const kept: Partial<AccountState> = missing === 'keep' ? (stored ?? {}) : {};
  const { id, username, name = kept.name ?? null, email = kept.email ?? null } = entry;
  const isSameEmail = email?.toLowerCase() === kept.email?.toLowerCase();
  const memberships = entry.memberships ?? kept.memberships ?? [];
  return {
    id,
    username,
    name,
    email,
    // A new address is not verified, unless the entry says so.
    emailVerified: entry.emailVerified ?? (kept.emailVerified === true && isSameEmail),
    kind: entry.kind ?? kept.kind ?? 'user',
    roles: entry.roles ?? kept.roles ?? [],
    disabled: entry.disabled ?? kept.disabled ?? false,
    memberships: memberships.toSorted((a, b) => (a.facilityId < b.facilityId ? -1 : 1)),
    passwordHash: stored?.passwordHash ?? null,
  };
}

/** The entry with which toStoredClient gives the complete client. */
export function completeClient(
  { replace, ...entry }: ImportedClient,
  stored: ClientState | undefined,
  missing: MissingFields,
): ImportedClient {
  if (!stored || missing === 'default' || replace) return entry;
  const kept = withoutDerivedFields(stored);
  // A personal access token has one name, under two fields.
  if (kept.accountId !== undefined && entry.client_name !== undefined) delete kept.name;
  return { ...kept, ...entry };
}

/** toStoredClient derives these fields. If they stayed, a client with its first redirect URI had no response type. */
const derivedFields = [['redirect_uris', 'response_types'], ['application_type'], ['token_endpoint_auth_method']];

function withoutDerivedFields(stored: ClientState): Record<string, unknown> & ImportedClient {
  const hasSecret = stored.secrets.length > 0;
  let entry = clientEntry(stored) as Record<string, unknown> & ImportedClient;
  for (const fields of derivedFields) {
    const shorter = Object.fromEntries(Object.entries(entry).filter(([field]) => !fields.includes(field)));
    const { metadata } = toStoredClient(shorter as ImportedClient, hasSecret);
    if (isDeepStrictEqual(metadata, stored.client.metadata)) entry = shorter as typeof entry;
  }
  return entry;
}

export const accountEntry = ({ passwordHash: _, name, email, ...account }: AccountState): ImportedAccount =>
  ({
    id: account.id,
    username: account.username,
    ...(name !== null && { name }),
    ...(email !== null && { email }),
    emailVerified: account.emailVerified,
    kind: account.kind,
    roles: account.roles,
    disabled: account.disabled,
    memberships: account.memberships,
  }) as ImportedAccount;

export function clientEntry({ client, disabled, expiresAt }: ClientState): ImportedClient {
  const { id, kind, name, accountId, access, facilityIds, metadata, pkce, scope } = client;
  const common = { ...(name !== null && { name }), disabled, ...(expiresAt !== null && { expiresAt }) };
  if (accountId === null) return { client_id: id, kind, pkce, scope, ...common, ...metadata };
  const { access_token_ttl } = metadata as { access_token_ttl?: number };
  return {
    client_id: id,
    kind,
    accountId,
    access,
    ...(facilityIds !== null && { facilities: [...facilityIds] }),
    ...common,
    ...(access_token_ttl !== undefined && { access_token_ttl }),
  };
}

/** The names of the fields that differ. */
export function changedFields(before: object | undefined, after: object): string[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after)]);
  const read = (entry: object | undefined, field: string) => (entry as Record<string, unknown> | undefined)?.[field];
  return [...fields].filter((field) => !isDeepStrictEqual(read(before, field), read(after, field)));
}
