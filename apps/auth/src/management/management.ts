// Creates the management API (docs/behaviour.md, "Management API"): its errors, its records, which the commands import
// and export too, and who may call it.
import { formats } from '@bay-booking/common/date-times';
import { linksBelow } from '@bay-booking/common/links';
import { atPointer } from '@bay-booking/common/validation';
import { createImportFiles, type ImportStore } from '@bay-booking/records/import';
import { createManagement } from '@bay-booking/records/management';
import type { Operator, RecordStore } from '@bay-booking/records/record';
import type { Database } from '@bay-booking/service/database/database';
import { sendErrors } from '@bay-booking/service/http/app';
import type { Request, Router } from 'express';
import { createAccountKind } from '../accounts/record.ts';
import type { Audit } from '../audit/audit.ts';
import { type AuditEvent, lockRecords, operatorEvents, storeOperatorEvents } from '../audit/store.ts';
import type { AuthConfig } from '../config.ts';
import { facilityKind } from '../facilities/record.ts';
import { createAccountCredentials, credentialFormats } from '../factors/credentials-store.ts';
import type { RejectRequest } from '../http/corrected-request.ts';
import { createClientKind } from '../oidc/clients/record.ts';
import { allowedScopes } from '../oidc/clients/registered-client.ts';
import { createClientValidator } from '../oidc/clients/validation.ts';
import { challengeOf, invalidToken, type TokenReader } from '../oidc/endpoints/bearer-token.ts';
import { createScopeTable } from '../oidc/scopes.ts';
import type { ResourceServer } from '../oidc/tokens/resource-server.ts';
import type { Services } from '../services.ts';
import { accountActions } from './account-actions.ts';
import { accountErrors } from './actions.ts';
import { clientActions, tokenSchema } from './client-actions.ts';
import { invitationActions, invitationSchema } from './invitation-actions.ts';

export interface RecordSettings
  extends Pick<AuthConfig, 'issuer' | 'isDevelopment' | 'outboundAllowNetworks' | 'scopeBase'> {
  readonly encryptionKeys: readonly Buffer[] | undefined;
}

export async function createAccountRecords(
  db: Database,
  settings: RecordSettings,
  onCommit: (events: readonly AuditEvent[]) => void = () => {},
): Promise<ImportStore> {
  const { issuer, isDevelopment, outboundAllowNetworks: allowNetworks, scopeBase, encryptionKeys } = settings;
  const validator = await createClientValidator({ issuer, isDevelopment, allowNetworks });
  const client = createClientKind(createScopeTable(scopeBase), validator);
  const account = createAccountKind(createAccountCredentials(encryptionKeys));
  const store: RecordStore = {
    db,
    link: linksBelow(issuer),
    errors: accountErrors,
    kinds: [facilityKind, account, client],
    formats: { ...formats, ...credentialFormats },
    lock: lockRecords,
    onCommit,
    auditExport: async (tx, { credentials }, context) => {
      if (credentials === 'hashed') await storeOperatorEvents(tx, context, [{ kind: 'credentials.exported' }]);
    },
  };
  return { ...store, files: createImportFiles(store) };
}

/** Returns a function that throws an ApiError with 401 or 403. */
const createAuthorize =
  (readToken: TokenReader, issuer: string, needed: ResourceServer['management']) =>
  async (request: Request): Promise<Operator> => {
    const found = await readToken(request, needed);
    const isRejected = 'status' in found;
    if (!isRejected && allowedScopes(found.client).includes(needed.scope)) return { clientId: found.token.client_id };
    const error = isRejected ? found : invalidToken;
    const code = error.status === 403 ? 'ERR00403' : 'ERR00401';
    throw accountErrors.apiError(code, { headers: challengeOf(issuer, error) });
  };

/** Uses the error envelope of the management API for its paths. */
export const rejectOperator =
  (reject: RejectRequest): RejectRequest =>
  (request, response, rejected) => {
    if (!request.path.startsWith('/management/')) return reject(request, response, rejected);
    const { badRequest, problemsOf } = accountErrors;
    return sendErrors(response, badRequest(problemsOf([atPointer('/query', 'invalid', rejected.description)])));
  };

export async function createAccountManagement(options: {
  readonly db: Database;
  readonly config: AuthConfig;
  readonly audit: Pick<Audit, 'log'>;
  readonly readToken: TokenReader;
  /** The audience and the scope that a token must have. */
  readonly needed: ResourceServer['management'];
  readonly sendLogoutTokens: () => void;
  readonly services: Pick<Services, 'emails' | 'facilityEmails' | 'mailer' | 'invitations'>;
}): Promise<Router> {
  const { db, config, audit, readToken, needed, sendLogoutTokens, services } = options;
  const { issuer } = config;
  const store = await createAccountRecords(db, config, (events) => {
    for (const event of events) audit.log(event);
    sendLogoutTokens();
  });
  return createManagement({
    store,
    authorize: createAuthorize(readToken, issuer, needed),
    title: 'Management API of Auth',
    summary: 'Create, change and delete facilities, accounts and clients.',
    baseUrl: issuer,
    tokenUrl: `${issuer}/connect/token`,
    scope: needed.scope,
    events: operatorEvents,
    exportQuery: {
      credentials: { enum: ['hashed'], description: 'Adds hashes of passwords and secrets, and second factors.' },
    },
    actions: [
      ...clientActions(store, services),
      ...accountActions(store, issuer, services),
      ...invitationActions(store, services),
    ],
    schemas: { PersonalAccessToken: tokenSchema, Invitation: invitationSchema },
  });
}
