// Connects the records of the service with the import, the export and the management API (packages/records).
import { formats } from '@bay-booking/common/date-times';
import { retryAfterHeader } from '@bay-booking/common/general-errors';
import { linksBelow } from '@bay-booking/common/links';
import { createManagementErrors } from '@bay-booking/records/errors';
import { createEntryReader } from '@bay-booking/records/file';
import type { RecordStore } from '@bay-booking/records/import';
import type { Database } from '@bay-booking/service/database/database';
import { deleteAccountWithin } from '../account-pages/deletion-store.ts';
import { createAccountKind } from '../accounts/record.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { lockRecords } from '../audit/operator-store.ts';
import type { AuthConfig } from '../config.ts';
import { facilityKind } from '../facilities/record.ts';
import { createAccountCredentials, credentialFormats } from '../factors/credentials-store.ts';
import { endAccess } from '../interaction/sign-in/session-store.ts';
import { createClientKind } from '../oidc/clients/record.ts';
import { createClientValidator } from '../oidc/clients/validation.ts';
import { createScopeTable } from '../oidc/scopes.ts';

export const accountErrors = createManagementErrors({
  ERR00429: { status: 429, description: 'Too many requests.', headers: retryAfterHeader, appliesTo: ['inviteOwner'] },
  PLACE00002: {
    status: 409,
    description: 'The id belonged to a facility that was deleted. It is never used again.',
    appliesTo: ['putFacility', 'importFile'],
  },
  FACILITY00001: {
    status: 409,
    description: 'The facility is disabled.',
    appliesTo: ['inviteOwner', 'putClient', 'importFile', 'rotateClientSecret'],
  },
  MEMBER00001: {
    status: 409,
    description: 'A facility would have no owner.',
    appliesTo: ['putAccount', 'deleteAccount', 'importFile'],
  },
  MEMBER00002: { status: 409, description: 'The facility still has members.', appliesTo: ['deleteFacility'] },
  MEMBER00003: { status: 409, description: 'The address cannot be invited as owner.', appliesTo: ['inviteOwner'] },
  ACCOUNT00001: {
    status: 409,
    description: 'The account is disabled or has no e-mail address.',
    appliesTo: ['sendPasswordReset'],
  },
  CLIENT00001: { status: 409, description: 'The client has no secret.', appliesTo: ['rotateClientSecret'] },
  CLIENT00002: {
    status: 403,
    description: 'Only the import command can make, change or delete an operator.',
    appliesTo: ['putClient', 'deleteClient', 'importFile'],
  },
});

export interface RecordSettings
  extends Pick<AuthConfig, 'issuer' | 'isDevelopment' | 'outboundAllowNetworks' | 'scopeBase'> {
  readonly encryptionKeys: readonly Buffer[] | undefined;
}

export async function createAccountRecords(
  db: Database,
  settings: RecordSettings,
  onCommit: (events: readonly AuditEvent[]) => void = () => {},
): Promise<RecordStore<AuditEvent>> {
  const { issuer, isDevelopment, outboundAllowNetworks: allowNetworks, scopeBase, encryptionKeys } = settings;
  const validator = await createClientValidator({ issuer, isDevelopment, allowNetworks });
  const client = createClientKind(createScopeTable(scopeBase), validator);
  const account = createAccountKind({
    credentials: createAccountCredentials(encryptionKeys),
    endAccess,
    deleteAccount: deleteAccountWithin,
  });
  const roots = [facilityKind, account, client];
  return {
    db,
    link: linksBelow(issuer),
    errors: accountErrors,
    roots,
    reader: createEntryReader(roots, { ...formats, ...credentialFormats }),
    lock: lockRecords,
    onCommit,
  };
}
