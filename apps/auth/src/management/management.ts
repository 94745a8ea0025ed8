// Creates the management API (docs/behaviour.md, "Management API"): its errors, its records, which the commands import
// and export too, and who may call it.
import { formats } from '@bay-booking/common/date-times';
import { linksBelow } from '@bay-booking/common/links';
import { atPointer } from '@bay-booking/common/validation';
import type { Operator } from '@bay-booking/records/endpoints';
import { createManagementErrors } from '@bay-booking/records/errors';
import { createEntryReader } from '@bay-booking/records/file';
import type { RecordStore } from '@bay-booking/records/import';
import { createManagement } from '@bay-booking/records/management';
import { type Database, transaction } from '@bay-booking/service/database/database';
import { sendErrors } from '@bay-booking/service/http/app';
import type { Request, Router } from 'express';
import { deleteAccountWithin } from '../account-pages/deletion-store.ts';
import { createAccountKind } from '../accounts/record.ts';
import type { Audit, AuditEvent } from '../audit/audit.ts';
import { lockRecords, storeOperatorEvents } from '../audit/operator-store.ts';
import type { AuthConfig } from '../config.ts';
import { facilityKind } from '../facilities/record.ts';
import { createAccountCredentials, credentialFormats } from '../factors/credentials-store.ts';
import type { RejectRequest } from '../http/corrected-request.ts';
import { endAccess } from '../interaction/sign-in/session-store.ts';
import { createClientKind } from '../oidc/clients/record.ts';
import { allowedScopes } from '../oidc/clients/registered-client.ts';
import { createClientValidator } from '../oidc/clients/validation.ts';
import { type BearerError, challengeOf, presentedTokenOf } from '../oidc/endpoints/bearer-token.ts';
import { createBindingCheck, invalidToken } from '../oidc/endpoints/token-binding.ts';
import type { ProviderManager } from '../oidc/provider-manager.ts';
import { createScopeTable, type ScopeTable, splitScope } from '../oidc/scopes.ts';
import { createAccessTokenVerifier, findActive } from '../oidc/tokens/access-token-verifier.ts';
import type { Mailer } from '../outbox/mailer.ts';
import type { FacilityEmails } from '../portal/facility-emails.ts';
import type { RevocationStore } from '../revocations/store.ts';
import { type ActionParts, actionEndpoints, actionErrors, actionSchemas } from './actions.ts';
import { operatorEvents } from './store.ts';

const accountErrors = createManagementErrors({
  ...actionErrors,
  PLACE00002: {
    status: 409,
    description: 'The id belonged to a facility that was deleted. It is never used again.',
    appliesTo: ['putFacility', 'importFile'],
  },
  MEMBER00001: {
    status: 409,
    description: 'A facility would have no owner.',
    appliesTo: ['putAccount', 'deleteAccount', 'importFile'],
  },
  MEMBER00002: { status: 409, description: 'The facility still has members.', appliesTo: ['deleteFacility'] },
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

/** @throws {ApiError} 401 or 403 */
type Authorize = (request: Request) => Promise<Operator>;

export function createAuthorize(
  {
    proofs,
    accounts,
    revocations,
    resource,
    scopes,
  }: {
    readonly proofs: Parameters<typeof createBindingCheck>[0];
    readonly accounts: { readonly findWithMemberships: Parameters<typeof findActive>[2] };
    readonly revocations: Pick<RevocationStore, 'isRevoked'>;
    readonly resource: { readonly managementAudience: string };
    readonly scopes: { readonly operateAuth: string };
  },
  { provider, signingKeys }: Pick<ProviderManager, 'provider' | 'signingKeys'>,
): Authorize {
  const findBindingError = createBindingCheck(proofs);

  const findCaller = async (request: Request): Promise<Operator | BearerError> => {
    const { issuer } = provider();
    const presented = presentedTokenOf(request);
    if ('status' in presented) return presented;
    const { scheme } = presented;
    const token = await createAccessTokenVerifier({ issuer, keys: signingKeys() })(presented.token);
    if (!token || token.aud !== resource.managementAudience) return { ...invalidToken, scheme };
    const url = issuer + new URL(request.originalUrl, issuer).pathname;
    const bindingError = await findBindingError(request, presented, token, url);
    if (bindingError) return bindingError;
    const scope = scopes.operateAuth;
    if (!splitScope(token.scope).includes(scope)) {
      return { status: 403, error: 'insufficient_scope', description: 'access token missing scope', scheme, scope };
    }
    const active = await findActive(provider(), token, accounts.findWithMemberships, revocations.isRevoked);
    if (!active || !allowedScopes(active.client).includes(scope)) return { ...invalidToken, scheme };
    return { clientId: token.client_id };
  };

  return async (request) => {
    const result = await findCaller(request);
    if ('clientId' in result) return result;
    const code = result.status === 403 ? 'ERR00403' : 'ERR00401';
    throw accountErrors.apiError(code, { headers: challengeOf(provider().issuer, result) });
  };
}

/** The audit event of an export with hashes and factors. */
export const credentialsExported: AuditEvent = { kind: 'credentials.exported' };

/** Uses the error envelope of the management API for its paths. */
export const rejectOperator =
  (reject: RejectRequest): RejectRequest =>
  (request, response, rejected) => {
    if (!request.path.startsWith('/management/')) return reject(request, response, rejected);
    const { badRequest, problemsOf } = accountErrors;
    return sendErrors(response, badRequest(problemsOf([atPointer('/query', 'invalid', rejected.description)])));
  };

export async function createAccountManagement(options: {
  readonly emails: ActionParts['emails'];
  readonly facilityEmails: FacilityEmails;
  readonly mailer: Mailer;
  readonly invitations: ActionParts['invitations'];
  readonly config: AuthConfig;
  readonly db: Parameters<typeof createAccountRecords>[0];
  readonly scopes: ScopeTable;
  readonly audit: Pick<Audit, 'log'>;
  readonly sendLogoutTokens: () => void;
  readonly authorize: Authorize;
}): Promise<Router> {
  const { config, db, scopes, audit, emails, facilityEmails, mailer, invitations, sendLogoutTokens, authorize } =
    options;
  const { issuer } = config;
  const onCommit = (events: readonly AuditEvent[]): void => {
    for (const event of events) audit.log(event);
    sendLogoutTokens();
  };
  const store = await createAccountRecords(db, config, onCommit);
  return createManagement({
    store,
    authorize,
    title: 'Management API of Auth',
    summary: 'Create, change and delete facilities, accounts and clients.',
    baseUrl: issuer,
    tokenUrl: `${issuer}/connect/token`,
    scope: scopes.operateAuth,
    events: operatorEvents,
    exportQuery: {
      credentials: { enum: ['hashed'], description: 'Adds hashes of passwords and secrets, and second factors.' },
    },
    // Before the credentials leave, so that no export is missing in the audit trail.
    beforeExport: async ({ credentials }, { clientId }) => {
      if (credentials !== 'hashed') return;
      const events: AuditEvent[] = [];
      await transaction(db, async (tx) => {
        await lockRecords(tx);
        await storeOperatorEvents(tx, { clientId, events }, [credentialsExported]);
      });
      onCommit(events);
    },
    actions: actionEndpoints({ emails, facilityEmails, mailer, invitations, store, issuer }),
    schemas: actionSchemas,
  });
}
