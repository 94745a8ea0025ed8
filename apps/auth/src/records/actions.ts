// Describes and handles what operators do to accounts, clients, invitations and tokens besides changing their records.
import { type Endpoint, endpointDefiner } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { listEnvelope, listEnvelopeSchema, offsetOf } from '@bay-booking/common/page';
import { writeQueryString } from '@bay-booking/common/query-string';
import { change } from '@bay-booking/records/change';
import type { RecordStore } from '@bay-booking/records/import';
import { type Caller, changeOf } from '@bay-booking/records/record-endpoints';
import { defaultPageSize, maxPageSize, objectSchema, pageQuery, text } from '@bay-booking/records/schemas';
import type { Queryable, Transaction } from '@bay-booking/service/database/database';
import { type createAccountEmails, emailAddressOf, nameInEmail } from '../accounts/account-emails.ts';
import { isEmailAddress } from '../accounts/field-rules.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { accessLevels, usesSecret } from '../clients/metadata.ts';
import { newClientSecret, revokeToken, rotateSecret } from '../clients/store.ts';
import { deleteFactors } from '../factors/store.ts';
import { forgetFailures } from '../guard/failures-store.ts';
import { factorChangedEmail } from '../outbox/email-templates.ts';
import type { Mailer } from '../outbox/mailer.ts';
import type { createFacilityEmails } from '../portal/facility-emails.ts';
import type { createInvitations } from '../portal/invitations/invitations.ts';
import { type Account, endAccess, findAccount } from './account.ts';
import { selectClients } from './client.ts';
import { deleteInvitation, listInvitations, listTokens } from './lists.ts';
import { storeOperatorEvents } from './outcomes.ts';
import { accountErrors } from './records.ts';

export interface ActionParts {
  readonly store: RecordStore;
  readonly link: MakeLink;
  readonly issuer: string;
  readonly emails: Pick<ReturnType<typeof createAccountEmails>, 'sendReset'>;
  readonly facilityEmails: ReturnType<typeof createFacilityEmails>;
  readonly mailer: Mailer;
  readonly invitations: Pick<ReturnType<typeof createInvitations>, 'inviteOwner' | 'useLimits'>;
  readonly onCommit: (notes: readonly unknown[]) => void;
}

const { apiError, fieldError } = accountErrors;
const defineEndpoint = endpointDefiner<Caller>();
const tag = 'Actions';
const access = 'write';
const noContent = { status: 204, description: 'Done.' };
const defaultOverlapHours = 24;
const string = { type: 'string' } as const;
const nullable = { type: ['string', 'null'] } as const;
const time = { type: 'string', format: 'date-time' } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
const facilityId = { ...text, description: 'Facility ID.' } as const;
const path = {
  username: { username: { description: 'User name.', schema: string, example: 'owner@north.example' } },
  client: { client_id: { description: 'Client ID.', schema: string, example: 'till' } },
  facility: { id: { description: 'Facility ID.', schema: string, example: 'fac-north' } },
  invitation: { id: { description: 'Invitation ID.', schema: string, example: 'inv-Zm9vYmFyYmF6' } },
};

const token = objectSchema({
  client_id: string,
  name: nullable,
  accountId: string,
  access: { enum: accessLevels },
  facilities: { type: ['array', 'null'], items: string, description: 'Null: all facilities of the account.' },
  createdAt: time,
  lastUsedAt: nullableTime,
  expiresAt: nullableTime,
});
const invitation = objectSchema({
  id: string,
  facilityId: string,
  email: string,
  role: string,
  state: { enum: ['open', 'accepted', 'withdrawn', 'expired'] },
  sentAt: time,
  expiresAt: time,
});
export const actionSchemas = { PersonalAccessToken: token, Invitation: invitation };

export function actionEndpoints(parts: ActionParts): readonly Endpoint<Caller>[] {
  const { store, link, issuer, emails, facilityEmails, mailer, invitations, onCommit } = parts;
  const { db } = store;
  const makeChange = (
    request: object,
    work: (
      tx: Transaction,
    ) => Promise<{ events: readonly AuditEvent[]; status?: number; body?: object; after?: () => void }>,
  ) => {
    const changeRequest = changeOf(request);
    return change(store, changeRequest, async (tx) => {
      const { events, status = 204, body, after } = await work(tx);
      const notes: unknown[] = [];
      await storeOperatorEvents(tx, { ...changeRequest, notes }, events);
      const committed = (): void => {
        onCommit(notes);
        after?.();
      };
      return { status, ...(body && { body }), onCommit: committed };
    });
  };
  const list =
    (
      collection: string,
      select: (on: Queryable, filter: object, limit: number, offset: number) => ReturnType<typeof listTokens>,
    ) =>
    async ({
      query: { page: number = 1, pageSize = defaultPageSize, ...filter },
    }: {
      query: { page?: number; pageSize?: number };
    }) => {
      const page = { page: number, pageSize };
      const { rows, total } = await select(db, filter, pageSize, offsetOf(page));
      const hrefOf = (target: number) =>
        link('GET', `/management/${collection}${writeQueryString({ ...filter, page: target, pageSize })}`).href;
      return { status: 200, body: listEnvelope(rows, total, page, hrefOf) };
    };
  /** An action on one account. */
  const onAccount = (
    action: string,
    description: { readonly operationId: string; readonly summary: string; readonly description: string },
    work: (tx: Transaction, account: Account) => Promise<{ events: readonly AuditEvent[]; after?: () => void }>,
  ): Endpoint<Caller> =>
    defineEndpoint({
      ...description,
      method: 'POST',
      path: `/management/accounts/{username}/${action}`,
      access,
      tag,
      params: path.username,
      success: noContent,
      handle: (request) =>
        makeChange(request, async (tx) => {
          const name = request.params.username ?? '';
          const account = name.includes('\0') ? undefined : await findAccount(tx, name);
          if (!account) throw apiError('ERR00404');
          return work(tx, account);
        }),
    });
  const eventOf = (kind: string, { id: accountId }: Account): readonly AuditEvent[] => [{ kind, accountId }];

  return [
    defineEndpoint({
      operationId: 'rotateClientSecret',
      method: 'POST',
      path: '/management/clients/{client_id}/rotate-secret',
      access,
      tag,
      summary: 'Create a new client secret',
      description:
        'The old secret works until the overlap ends. The new one is shown once, not again for the same key.',
      params: path.client,
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
        schema: objectSchema({ client_id: string, client_secret: { ...string, description: 'Shown once.' } }),
        example: { client_id: 'till', client_secret: 'bbs_example' },
      },
      handle: (request) =>
        makeChange(request, async (tx) => {
          const { client_id: id = '' } = request.params;
          const { overlapHours = defaultOverlapHours } = request.body;
          const [state] = id.includes('\0') ? [] : await selectClients(tx, [id]);
          if (!state) throw apiError('ERR00404');
          if (!usesSecret(state.client.metadata)) throw apiError('CLIENT00001');
          const clientSecret = newClientSecret();
          await rotateSecret(tx, id, clientSecret, overlapHours * 3600);
          const { accountId } = state.client;
          const event = { kind: 'client.secret-rotated', clientId: id, ...(accountId !== null && { accountId }) };
          return {
            status: 200,
            body: { client_id: id, client_secret: clientSecret },
            events: [{ ...event, detail: { changed: ['client_secret'] } }],
          };
        }),
    }),
    onAccount(
      'unlock',
      {
        operationId: 'unlockAccount',
        summary: 'End the lock-out of an account',
        description: 'Forgets the failed sign-ins of the account.',
      },
      async (tx, account) => {
        await forgetFailures(tx, account.username);
        return { events: eventOf('account.unlocked', account) };
      },
    ),
    onAccount(
      'end-sessions',
      {
        operationId: 'endSessions',
        summary: 'End the sessions of an account',
        description: 'Ends its sessions and grants. The Bookings API rejects their access tokens within 15 s.',
      },
      async (tx, account) => {
        await endAccess(tx, account, { newPassword: false });
        return { events: eventOf('account.sessions-ended', account) };
      },
    ),
    onAccount(
      'reset-factors',
      {
        operationId: 'resetFactors',
        summary: 'Remove the second factors of an account',
        description: 'For a person who has lost them. Also ends the sessions, and mails the person.',
      },
      async (tx, account) => {
        await deleteFactors(tx, account.id);
        await endAccess(tx, account, { newPassword: false });
        const to = emailAddressOf(account);
        if (to !== undefined) {
          const recipient = { to, name: nameInEmail(account), link: `${issuer}/account/security` };
          const email = factorChangedEmail(recipient, 'All second factors were removed');
          await mailer.enqueue({ ...email, accountId: account.id }, tx);
        }
        return { events: eventOf('factor.reset', account) };
      },
    ),
    onAccount(
      'send-reset',
      {
        operationId: 'sendPasswordReset',
        summary: 'Send a link to reset the password',
        description: 'The user gets the same mail as from the page. The limits of mails to one address apply.',
      },
      async (_tx, account) => {
        if (account.disabled || !emailAddressOf(account)) throw apiError('ACCOUNT00001');
        return {
          events: eventOf('account.reset-sent', account),
          after: () => emails.sendReset(account.username, undefined),
        };
      },
    ),
    defineEndpoint({
      operationId: 'inviteOwner',
      method: 'POST',
      path: '/management/facilities/{id}/owner-invitations',
      access,
      tag,
      summary: 'Invite an owner',
      description: 'Mails an invitation as owner. An invitation that is still open is mailed again, with a new link.',
      params: path.facility,
      body: {
        type: 'object',
        required: ['email'],
        additionalProperties: false,
        properties: { email: { type: 'string', minLength: 1, maxLength: 254 } },
      },
      bodyExample: { email: 'owner@north.example' },
      success: {
        status: 201,
        description: 'The mail is queued.',
        schema: objectSchema({ id: string, facilityId: string, email: string, role: { enum: ['owner'] } }),
        example: { id: 'inv-Zm9vYmFyYmF6', facilityId: 'fac-north', email: 'owner@north.example', role: 'owner' },
      },
      handle: (request) =>
        makeChange(request, async (tx) => {
          const { id = '' } = request.params;
          const { email = '' } = request.body;
          const facility = id.includes('\0') ? undefined : await store.roots[0]?.find(tx, id);
          if (!facility) throw apiError('ERR00404');
          if (!isEmailAddress(email)) throw fieldError('email', 'invalid', 'must be an e-mail address');
          const wait = changeOf(request).dryRun ? 0 : await invitations.useLimits(id, email);
          if (wait > 0) throw apiError('ERR00429', { headers: { 'Retry-After': String(wait) } });
          const outcome = await invitations.inviteOwner(tx, id, email);
          if ('error' in outcome) throw apiError('MEMBER00003', { moreInfo: ownerErrors[outcome.error] ?? '' });
          const detail = { email, role: 'owner', invitation: outcome.id };
          return {
            status: 201,
            body: { id: outcome.id, facilityId: id, email, role: 'owner' },
            events: [{ kind: 'invitation.sent', facilityId: id, detail }],
          };
        }),
    }),
    defineEndpoint({
      operationId: 'listInvitations',
      method: 'GET',
      path: '/management/invitations',
      access: 'read',
      tag,
      summary: 'List invitations',
      description: 'Newest first. The links in their mails are never shown.',
      query: { type: 'object', properties: { facilityId, ...pageQuery } },
      success: { status: 200, description: 'A page of the list.', schema: listEnvelopeSchema(invitation, maxPageSize) },
      handle: list('invitations', listInvitations),
    }),
    defineEndpoint({
      operationId: 'getInvitation',
      method: 'GET',
      path: '/management/invitations/{id}',
      access: 'read',
      tag,
      summary: 'Get an invitation',
      description: 'The link in its mail is never shown.',
      params: path.invitation,
      success: { status: 200, description: 'The invitation.', schema: invitation },
      handle: async ({ params: { id = '' } }) => {
        const { rows } = id.includes('\0') ? { rows: [] } : await listInvitations(db, { id }, 1, 0);
        if (!rows[0]) throw apiError('ERR00404');
        return { status: 200, body: rows[0] };
      },
    }),
    defineEndpoint({
      operationId: 'deleteInvitation',
      method: 'DELETE',
      path: '/management/invitations/{id}',
      access,
      tag,
      summary: 'Withdraw an invitation',
      description: 'Its link stops working.',
      params: path.invitation,
      success: noContent,
      handle: (request) =>
        makeChange(request, async (tx) => {
          const { id = '' } = request.params;
          const withdrawn = id.includes('\0') ? undefined : await deleteInvitation(tx, id);
          if (!withdrawn) throw apiError('ERR00404');
          const { facilityId: facility, email, role } = withdrawn;
          return {
            events: [{ kind: 'invitation.withdrawn', facilityId: facility, detail: { email, role, invitation: id } }],
          };
        }),
    }),
    defineEndpoint({
      operationId: 'listPersonalAccessTokens',
      method: 'GET',
      path: '/management/personal-access-tokens',
      access: 'read',
      tag,
      summary: 'List personal access tokens',
      description: 'The tokens that are neither revoked nor expired, by id.',
      query: {
        type: 'object',
        properties: { accountId: { ...text, description: 'Account ID.' }, facilityId, ...pageQuery },
      },
      success: { status: 200, description: 'A page of the list.', schema: listEnvelopeSchema(token, maxPageSize) },
      handle: list('personal-access-tokens', listTokens),
    }),
    defineEndpoint({
      operationId: 'revokePersonalAccessToken',
      method: 'DELETE',
      path: '/management/personal-access-tokens/{client_id}',
      access,
      tag,
      summary: 'Revoke a personal access token',
      description: 'The Bookings API rejects its access tokens within 15 s.',
      params: path.client,
      success: noContent,
      handle: (request) =>
        makeChange(request, async (tx) => {
          const { client_id: id = '' } = request.params;
          const revoked = id.includes('\0') ? undefined : await revokeToken(tx, id);
          if (!revoked) throw apiError('ERR00404');
          // As for a change in the portal, the history of each facility shows it.
          const facilities = revoked.facilityIds.length > 0 ? revoked.facilityIds : [undefined];
          const { name, accountId } = revoked;
          const events = facilities.map((facility) => ({
            kind: 'personal-access-token.revoked',
            clientId: id,
            facilityId: facility,
            detail: { name, account: accountId, changed: ['disabled'] },
          }));
          for (const [index, facility] of revoked.facilityIds.entries()) {
            const event = { kind: 'personal-access-token.revoked', facilityId: facility, detail: { name } } as const;
            await facilityEmails.send(event, 'owners', index === 0 ? [accountId] : [], tx);
          }
          return { events };
        }),
    }),
  ];
}

const ownerErrors: Readonly<Record<string, string>> = {
  'already-member': 'The address belongs to an owner of the facility.',
  'other-kind': 'The address belongs to a service account.',
  'too-many': 'The facility has too many members and open invitations.',
};
