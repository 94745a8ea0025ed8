// Describes and handles what operators do to accounts, clients, invitations and tokens besides changing their records.

import { type Endpoint, type EndpointRequest, responseSchema } from '@bay-booking/common/endpoint';
import { retryAfterHeader } from '@bay-booking/common/general-errors';
import { textSchema } from '@bay-booking/common/text';
import { atPointer } from '@bay-booking/common/validation';
import { changeRequestOf, listEndpoint } from '@bay-booking/records/endpoints';
import { change, type Operator, type RecordStore } from '@bay-booking/records/import';
import { createManagementErrors } from '@bay-booking/records/record';
import type { Transaction } from '@bay-booking/service/database/database';
import { emailAddressOf } from '../accounts/account-emails.ts';
import { endEverything } from '../accounts/end-access-store.ts';
import { isEmailAddress } from '../accounts/field-rules.ts';
import { type AccountRow, findAccount } from '../accounts/record-store.ts';
import { type AuditEvent, storeOperatorEvents } from '../audit/store.ts';
import { accessLevels, usesSecret } from '../clients/metadata.ts';
import { isDisabledEverywhere, listTokens, revokeToken } from '../clients/personal-access-token-store.ts';
import { newClientSecret, rotateSecret, selectClients } from '../clients/store.ts';
import { facilityKind } from '../facilities/record.ts';
import { forgetFailures } from '../guard/failures-store.ts';
import { resetFactors } from '../interaction/reset-factors.ts';
import { listInvitations, withdrawInvitation } from '../portal/invitations/invitation-store.ts';
import type { Services } from '../services.ts';

export type ActionServices = Pick<Services, 'emails' | 'facilityEmails' | 'mailer' | 'invitations'>;

export const accountErrors = createManagementErrors({
  ERR00429: { status: 429, description: 'Too many requests.', headers: retryAfterHeader, appliesTo: ['inviteOwner'] },
  FACILITY00001: {
    status: 409,
    description: 'The facility is disabled.',
    appliesTo: ['inviteOwner', 'putClient', 'importFile', 'rotateClientSecret'],
  },
  MEMBER00003: { status: 409, description: 'The address cannot be invited as owner.', appliesTo: ['inviteOwner'] },
  ACCOUNT00001: {
    status: 409,
    description: 'The account is disabled or has no e-mail address.',
    appliesTo: ['sendPasswordReset'],
  },
  CLIENT00001: { status: 409, description: 'The client has no secret.', appliesTo: ['rotateClientSecret'] },
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

const { apiError, badRequest, problemsOf, tooManyRequests } = accountErrors;
const tag = 'Actions';
const defaultOverlapHours = 24;
const string = { type: 'string' } as const;
const nullable = { type: ['string', 'null'] } as const;
const time = { type: 'string', format: 'date-time' } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
const facilityId = { ...textSchema, description: 'Facility ID.' } as const;
const token = responseSchema({
  client_id: string,
  name: nullable,
  accountId: string,
  access: { enum: accessLevels },
  facilities: { type: ['array', 'null'], items: string, description: 'Null: all facilities of the account.' },
  createdAt: time,
  lastUsedAt: nullableTime,
  expiresAt: nullableTime,
});
const invitation = responseSchema({
  id: string,
  facilityId: string,
  email: string,
  role: string,
  state: { enum: ['open', 'accepted', 'withdrawn', 'expired'] },
  sentAt: time,
  expiresAt: time,
});
export const actionSchemas = { PersonalAccessToken: token, Invitation: invitation };

interface Action<Body> extends Omit<Endpoint<Operator>, 'access' | 'tag' | 'success' | 'handle'> {
  /** Default: 204. */
  readonly success?: Endpoint['success'];
  /** `id` is the parameter of the path. */
  readonly work: (
    tx: Transaction,
    id: string,
    request: { readonly body: Body },
  ) => Promise<{
    readonly events: readonly AuditEvent[];
    readonly body?: object;
    /** Called after the commit. */
    readonly after?: (() => void) | undefined;
  }>;
}

interface AccountAction extends Pick<Endpoint, 'operationId' | 'summary' | 'description'> {
  readonly action: string;
  readonly event: string;
  readonly work: (tx: Transaction, account: AccountRow) => Promise<unknown>;
  /** Called after the commit. */
  readonly after?: (account: AccountRow) => void;
}

export function actionEndpoints(
  store: RecordStore,
  issuer: string,
  { emails, facilityEmails, mailer, invitations }: ActionServices,
): readonly Endpoint<Operator>[] {
  const changes = <Body>({
    success = { status: 204, description: 'Done.' },
    work,
    ...action
  }: Action<Body>): Endpoint<Operator> => ({
    ...action,
    access: 'write',
    tag,
    success,
    handle: async (request: EndpointRequest<never, never, Operator>) => {
      const changeRequest = changeRequestOf(request);
      const [id = ''] = Object.values(request.params);
      let committed: (() => void) | undefined;
      const response = await change(store, changeRequest, async (tx, context) => {
        const { events, body, after } = await work(tx, id, { body: request.body });
        await storeOperatorEvents(tx, context, events);
        committed = after;
        return { status: success.status, ...(body && { body }) };
      });
      if (!changeRequest.dryRun) committed?.();
      return response;
    },
  });
  const onAccount = ({ action, event, work, after, ...description }: AccountAction): Endpoint<Operator> =>
    changes({
      ...description,
      method: 'POST',
      path: `/management/accounts/{username}/${action}`,
      work: async (tx, name) => {
        const account = await findAccount(tx, name);
        if (!account) throw apiError('ERR00404');
        await work(tx, account);
        return { events: [{ kind: event, accountId: account.id }], after: after && (() => after(account)) };
      },
    });

  return [
    changes<{ readonly overlapHours?: number }>({
      operationId: 'rotateClientSecret',
      method: 'POST',
      path: '/management/clients/{client_id}/rotate-secret',
      summary: 'Create a new client secret',
      description:
        'The old secret works until the overlap ends. The new one is shown once, not again for the same key.',
      body: {
        type: 'object',
        additionalProperties: false,
        properties: {
          overlapHours: {
            type: 'number',
            minimum: 0,
            maximum: 720,
            description: 'How long the old secret works; 24 if left out.',
          },
        },
      },
      bodyUse: 'optional',
      bodyExample: { overlapHours: defaultOverlapHours },
      success: {
        status: 200,
        description: 'The new secret.',
        schema: responseSchema({ client_id: string, client_secret: { ...string, description: 'Shown once.' } }),
        example: { client_id: 'till', client_secret: 'bbs_example' },
      },
      work: async (tx, id, { body: { overlapHours = defaultOverlapHours } }) => {
        const client = (await selectClients(tx, [id])).get(id);
        if (!client) throw apiError('ERR00404');
        if (!usesSecret(client.metadata)) throw apiError('CLIENT00001');
        if (await isDisabledEverywhere(tx, id)) throw apiError('FACILITY00001');
        const clientSecret = newClientSecret();
        await rotateSecret(tx, id, clientSecret, overlapHours * 3600);
        const { accountId } = client;
        const event = { kind: 'client.secret-rotated', clientId: id, ...(accountId !== null && { accountId }) };
        return {
          body: { client_id: id, client_secret: clientSecret },
          // The lifetime of a personal access token begins anew.
          events: [{ ...event, detail: { changed: ['client_secret', ...(client.expiresAt ? ['expiresAt'] : [])] } }],
        };
      },
    }),
    onAccount({
      action: 'unlock',
      operationId: 'unlockAccount',
      summary: 'Unlock an account',
      description: 'Forgets the failed sign-ins of the account.',
      event: 'account.unlocked',
      work: (tx, account) => forgetFailures(tx, account.username),
    }),
    onAccount({
      action: 'end-sessions',
      operationId: 'endSessions',
      summary: 'Sign an account out everywhere',
      description:
        'Ends its sessions and revokes its grants. The Bookings API rejects their access tokens within 15 s.',
      event: 'account.sessions-ended',
      work: (tx, { id }) => endEverything(tx, id),
    }),
    onAccount({
      action: 'reset-factors',
      operationId: 'resetFactors',
      summary: 'Remove the second factors of an account',
      description: 'For a person who has lost them. Also signs the person out everywhere and sends an e-mail.',
      event: 'factor.reset',
      work: async (tx, account) => {
        const email = await resetFactors(tx, account, issuer);
        if (email) await mailer.enqueue(email, tx);
      },
    }),
    onAccount({
      action: 'send-reset',
      operationId: 'sendPasswordReset',
      summary: 'Send a link to reset the password',
      description: 'The user gets the same mail as from the page. The limits of mails to one address apply.',
      event: 'account.reset-sent',
      work: async (_tx, account) => {
        if (account.disabled || !emailAddressOf(account)) throw apiError('ACCOUNT00001');
      },
      after: (account) => emails.sendReset(account.username, undefined),
    }),
    changes<{ readonly email: string }>({
      operationId: 'inviteOwner',
      method: 'POST',
      path: '/management/facilities/{id}/owner-invitations',
      summary: 'Invite an owner',
      description: 'Mails an invitation as owner. An invitation that is still open is mailed again, with a new link.',
      body: responseSchema({ email: { ...textSchema, maxLength: 254 } }),
      bodyExample: { email: 'owner@north.example' },
      success: {
        status: 201,
        description: 'The mail is queued.',
        schema: responseSchema({ id: string, facilityId: string, email: string, role: { enum: ['owner'] } }),
        example: { id: 'inv-Zm9vYmFyYmF6', facilityId: 'fac-north', email: 'owner@north.example', role: 'owner' },
      },
      work: async (tx, id, { body: { email } }) => {
        if (!(await facilityKind.find(tx, id))) throw apiError('ERR00404');
        if (!isEmailAddress(email))
          throw badRequest(problemsOf([atPointer('/email', 'invalid', 'must be an e-mail address')]));
        const wait = await invitations.useLimits(id, email, tx);
        if (wait > 0) throw tooManyRequests('Too many invitations to this address or from this facility', wait);
        const outcome = await invitations.inviteOwner(tx, id, email);
        if ('error' in outcome && outcome.error === 'facility-disabled') throw apiError('FACILITY00001');
        if ('error' in outcome) throw apiError('MEMBER00003', { moreInfo: ownerErrors[outcome.error] ?? '' });
        const detail = { email, role: 'owner', invitation: outcome.id };
        return {
          body: { id: outcome.id, facilityId: id, email, role: 'owner' },
          events: [{ kind: 'invitation.sent', facilityId: id, detail }],
        };
      },
    }),
    listEndpoint(store, {
      operationId: 'listInvitations',
      collection: 'invitations',
      tag,
      summary: 'List invitations',
      description: 'Newest first. The links in their mails are never shown.',
      filters: { facilityId },
      item: invitation,
      list: listInvitations,
    }),
    {
      operationId: 'getInvitation',
      method: 'GET',
      path: '/management/invitations/{id}',
      access: 'read',
      tag,
      summary: 'Get an invitation',
      description: 'The link in its mail is never shown.',
      success: { status: 200, description: 'The invitation.', schema: invitation },
      handle: async ({ params: { id = '' } }) => {
        const { rows } = await listInvitations(store.db, { id }, { page: 1, pageSize: 1 });
        if (!rows[0]) throw apiError('ERR00404');
        return { status: 200, body: rows[0] };
      },
    },
    changes({
      operationId: 'deleteInvitation',
      method: 'DELETE',
      path: '/management/invitations/{id}',
      summary: 'Withdraw an invitation',
      description: 'Its link stops working.',
      work: async (tx, id) => {
        const withdrawn = await withdrawInvitation(tx, id);
        if (!withdrawn) throw apiError('ERR00404');
        const { facilityId: facility, ...detail } = withdrawn;
        return {
          events: [{ kind: 'invitation.withdrawn', facilityId: facility, detail: { ...detail, invitation: id } }],
        };
      },
    }),
    listEndpoint(store, {
      operationId: 'listPersonalAccessTokens',
      collection: 'personal-access-tokens',
      tag,
      summary: 'List personal access tokens',
      description: 'The tokens that are neither revoked nor expired, by id.',
      filters: { accountId: { ...textSchema, description: 'Account ID.' }, facilityId },
      item: token,
      list: listTokens,
    }),
    changes({
      operationId: 'revokePersonalAccessToken',
      method: 'DELETE',
      path: '/management/personal-access-tokens/{client_id}',
      summary: 'Revoke a personal access token',
      description: 'The Bookings API rejects its access tokens within 15 s.',
      work: async (tx, id) => {
        const revoked = await revokeToken(tx, id);
        if (!revoked) throw apiError('ERR00404');
        const { name, accountId, facilityIds } = revoked;
        const detail = { name, account: accountId, changed: ['disabled'] };
        const event = { kind: 'personal-access-token.revoked', clientId: id, detail } as const;
        // As for a change in the portal, the history of each facility shows it.
        const ofFacilities = facilityIds.map((facility) => ({ ...event, facilityId: facility }));
        for (const [index, mailed] of ofFacilities.entries())
          await facilityEmails.send(mailed, 'owners', index === 0 ? [accountId] : [], tx);
        return { events: ofFacilities.length > 0 ? ofFacilities : [event] };
      },
    }),
  ];
}

const ownerErrors: Readonly<Record<string, string>> = {
  'already-member': 'The address belongs to an owner of the facility.',
  'other-kind': 'The address belongs to a service account.',
  'too-many': 'The facility has too many members and open invitations.',
};
