// Describes and handles the changes of accounts, clients and tokens that are no resource of their own.
import { type Endpoint, endpointDefiner } from '@bay-booking/common/endpoint';
import { linksBelow } from '@bay-booking/common/links';
import { listEnvelope, offsetOf, readPage } from '@bay-booking/common/page';
import { writeQueryString } from '@bay-booking/common/query-string';
import type { Queryable } from '@bay-booking/service/database/database';
import { emailAddressOf } from '../accounts/account-emails.ts';
import { isEmailAddress } from '../accounts/field-rules.ts';
import { usesSecret } from '../clients/metadata.ts';
import { newClientSecret, revokeToken, rotateSecret } from '../clients/store.ts';
import { forgetFailures } from '../guard/failures-store.ts';
import type { AccountState } from '../import/entries.ts';
import { selectAccounts, selectClients, withIds, withUsername } from '../import/find-store.ts';
import { endAccess } from '../import/store.ts';
import type { Caller } from './authorize.ts';
import { apiError } from './problems.ts';
import { getResource, type ManagementContext } from './resource-endpoints.ts';
import { fieldError } from './router.ts';
import {
  defaultPageSize,
  invitationSchema,
  invitedSchema,
  newSecretSchema,
  rotationSchema,
  tokenListSchema,
  tokenQuery,
} from './schema.ts';
import { countTokens, listTokens } from './store.ts';

const defineEndpoint = endpointDefiner<Caller>();
const tag = 'Actions';
const access = 'write';
const noContent = { status: 204, description: 'Done.' };
const defaultOverlapHours = 24;

const username = {
  username: { description: 'User name.', schema: { type: 'string' }, example: 'owner@north.example' },
};
const clientId = { client_id: { description: 'Client ID.', schema: { type: 'string' }, example: 'till' } };

async function findAccount(on: Queryable, name = ''): Promise<AccountState> {
  const [account] = name.includes('\0') ? [] : await selectAccounts(on, withUsername(name));
  if (!account) throw apiError('ERR00404');
  return account;
}

export function actionEndpoints({ services, makeChange }: ManagementContext): readonly Endpoint<Caller>[] {
  const { db, config, emails, invitations, facilityEmails } = services;
  const link = linksBelow(config.issuer);
  const tokensPath = '/management/personal-access-tokens';
  return [
    defineEndpoint({
      operationId: 'rotateClientSecret',
      method: 'POST',
      path: '/management/clients/{client_id}/rotate-secret',
      access,
      tag,
      summary: 'Create a new client secret',
      description: 'The old secret works until the overlap ends. The new one is shown once.',
      params: clientId,
      body: rotationSchema,
      bodyUse: 'optional',
      bodyExample: { overlapHours: defaultOverlapHours },
      success: { status: 200, description: 'The new secret.', schema: newSecretSchema },
      handle: ({ params: { client_id: id }, body, caller }) =>
        makeChange(caller, async (tx) => {
          const { overlapHours = defaultOverlapHours } = body;
          if (typeof overlapHours !== 'number' || !(overlapHours >= 0 && overlapHours <= 720)) {
            throw fieldError('overlapHours', 'must be a number from 0 to 720');
          }
          const resource = await getResource(tx, 'client', id);
          const [state] = await selectClients(tx, withIds('client', [resource.id]));
          if (!state || !usesSecret(state.client.metadata)) throw apiError('CLIENT00001');
          const clientSecret = newClientSecret();
          await rotateSecret(tx, resource.id, clientSecret, overlapHours * 3600);
          const { accountId } = state.client;
          const event = {
            kind: 'client.secret-rotated',
            clientId: resource.id,
            ...(accountId !== null && { accountId }),
          };
          const result = { status: 200, body: { client_id: resource.id, client_secret: clientSecret } };
          return { result, events: [{ ...event, detail: { changed: ['client_secret'] } }] };
        }),
    }),
    defineEndpoint({
      operationId: 'unlockAccount',
      method: 'POST',
      path: '/management/accounts/{username}/unlock',
      access,
      tag,
      summary: 'End the lock-out of an account',
      description: 'Forgets the failed sign-ins of the account.',
      params: username,
      success: noContent,
      handle: ({ params, caller }) =>
        makeChange(caller, async (tx) => {
          const account = await findAccount(tx, params.username);
          await forgetFailures(tx, account.username);
          return { result: { status: 204 }, events: [{ kind: 'account.unlocked', accountId: account.id }] };
        }),
    }),
    defineEndpoint({
      operationId: 'endSessions',
      method: 'POST',
      path: '/management/accounts/{username}/end-sessions',
      access,
      tag,
      summary: 'End the sessions of an account',
      description: 'Ends its sessions and grants. The Bookings API refuses their access tokens within 15 s.',
      params: username,
      success: noContent,
      handle: ({ params, caller }) =>
        makeChange(caller, async (tx) => {
          const account = await findAccount(tx, params.username);
          await endAccess(tx, account, { newPassword: false });
          return { result: { status: 204 }, events: [{ kind: 'account.sessions-ended', accountId: account.id }] };
        }),
    }),
    defineEndpoint({
      operationId: 'sendPasswordReset',
      method: 'POST',
      path: '/management/accounts/{username}/send-reset',
      access,
      tag,
      summary: 'Send a link to reset the password',
      description: 'The user gets the same mail as from the page. The limits of mails to one address apply.',
      params: username,
      success: noContent,
      handle: async ({ params, caller }) => {
        const account = await findAccount(db, params.username);
        if (account.disabled || !emailAddressOf(account)) throw apiError('ACCOUNT00001');
        const events = [{ kind: 'account.reset-sent', accountId: account.id }];
        const result = await makeChange(caller, async () => ({ result: { status: 204 }, events }));
        emails.sendReset(account.username, undefined);
        return result;
      },
    }),
    defineEndpoint({
      operationId: 'inviteOwner',
      method: 'POST',
      path: '/management/facilities/{id}/owner-invitations',
      access,
      tag,
      summary: 'Invite an owner',
      description: 'Mails an invitation as owner. An invitation that is still open is mailed again, with a new link.',
      params: { id: { description: 'Facility ID.', schema: { type: 'string' }, example: 'fac-north' } },
      body: invitationSchema,
      bodyUse: 'as sent',
      bodyExample: { email: 'owner@north.example' },
      success: { status: 201, description: 'The mail is queued.', schema: invitedSchema },
      handle: async ({ params: { id }, body, caller }) => {
        const facility = await getResource(db, 'facility', id);
        const { email } = body;
        if (email === undefined) throw fieldError('email', 'is missing');
        if (typeof email !== 'string' || !isEmailAddress(email)) throw fieldError('email', 'is no e-mail address');
        const waitSeconds = await invitations.useLimits(facility.id, email);
        if (waitSeconds > 0) throw apiError('ERR00429', { headers: { 'Retry-After': String(waitSeconds) } });
        return makeChange(caller, async (tx) => {
          // It may have been deleted meanwhile.
          await getResource(tx, 'facility', facility.id);
          const outcome = await invitations.inviteOwner(tx, facility.id, email);
          if ('error' in outcome) throw apiError('MEMBER00003', { moreInfo: ownerErrors[outcome.error] ?? '' });
          const detail = { email, role: 'owner', invitation: outcome.id };
          const result = { status: 201, body: { facilityId: facility.id, email, role: 'owner' } };
          return { result, events: [{ kind: 'invitation.sent', facilityId: facility.id, detail }] };
        });
      },
    }),
    defineEndpoint({
      operationId: 'listPersonalAccessTokens',
      method: 'GET',
      path: tokensPath,
      access: 'read',
      tag,
      summary: 'List personal access tokens',
      description: 'The tokens that are neither revoked nor expired, by id.',
      query: tokenQuery,
      success: { status: 200, description: 'A page of the list.', schema: tokenListSchema },
      handle: async ({ query }) => {
        const page = { page: query.page ?? 1, pageSize: query.pageSize ?? defaultPageSize };
        const { rows, total } = await readPage(
          page,
          (limit) => listTokens(db, query, limit, offsetOf(page)),
          () => countTokens(db, query),
        );
        const hrefOf = (number: number) =>
          link('GET', `${tokensPath}${writeQueryString({ ...query, page: number, pageSize: page.pageSize })}`).href;
        return { status: 200, body: listEnvelope(rows, total, page, hrefOf) };
      },
    }),
    defineEndpoint({
      operationId: 'revokePersonalAccessToken',
      method: 'DELETE',
      path: `${tokensPath}/{client_id}`,
      access,
      tag,
      summary: 'Revoke a personal access token',
      description: 'The Bookings API refuses its access tokens within 15 s.',
      params: clientId,
      success: noContent,
      handle: ({ params: { client_id: id = '' }, caller }) =>
        makeChange(caller, async (tx) => {
          const revoked = id.includes('\0') ? undefined : await revokeToken(tx, id);
          if (!revoked) throw apiError('ERR00404');
          // As for a change in the portal, the history of each facility shows it.
          const facilities = revoked.facilityIds.length > 0 ? revoked.facilityIds : [undefined];
          const { name, accountId } = revoked;
          const events = facilities.map((facilityId) => ({
            kind: 'personal-access-token.revoked',
            clientId: id,
            facilityId,
            detail: { name, account: accountId, changed: ['disabled'] },
          }));
          for (const [index, facilityId] of revoked.facilityIds.entries()) {
            const event = { kind: 'personal-access-token.revoked', facilityId, detail: { name } } as const;
            await facilityEmails.send(event, 'owners', index === 0 ? [accountId] : [], tx);
          }
          return { result: { status: 204 }, events };
        }),
    }),
  ];
}

const ownerErrors: Readonly<Record<string, string>> = {
  'already-member': 'The address belongs to an owner of the facility.',
  'other-kind': 'The address belongs to a service account.',
  'too-many': 'The facility has too many members and open invitations.',
};
