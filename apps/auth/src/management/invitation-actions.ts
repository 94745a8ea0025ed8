// Describes and handles how operators invite owners, and list and withdraw invitations.
import { type Endpoint, responseSchema } from '@bay-booking/common/endpoint';
import { textSchema } from '@bay-booking/common/text';
import { atPointer } from '@bay-booking/common/validation';
import { listEndpoint } from '@bay-booking/records/endpoints';
import type { Operator, RecordStore } from '@bay-booking/records/record';
import { facilityKind } from '../facilities/record.ts';
import { isEmailAddress } from '../input/field-rules.ts';
import { listInvitations, withdrawInvitation } from '../portal/invitations/invitation-store.ts';
import type { Services } from '../services.ts';
import { accountErrors, actionTag, facilityFilter, operatorAction } from './actions.ts';

const { apiError, badRequest, problemsOf, tooManyRequests } = accountErrors;
const string = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;

export const invitationSchema = responseSchema({
  id: string,
  facilityId: string,
  email: string,
  role: string,
  state: { enum: ['open', 'accepted', 'withdrawn', 'expired'] },
  sentAt: time,
  expiresAt: time,
});

export function invitationActions(
  store: RecordStore,
  { invitations }: Pick<Services, 'invitations'>,
): readonly Endpoint<Operator>[] {
  const changes = operatorAction(store);
  return [
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
      tag: actionTag,
      summary: 'List invitations',
      description: 'Newest first. The links in their mails are never shown.',
      filters: facilityFilter,
      item: invitationSchema,
      list: listInvitations,
    }),
    {
      operationId: 'getInvitation',
      method: 'GET',
      path: '/management/invitations/{id}',
      access: 'read',
      tag: actionTag,
      summary: 'Get an invitation',
      description: 'The link in its mail is never shown.',
      success: { status: 200, description: 'The invitation.', schema: invitationSchema },
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
  ];
}

const ownerErrors: Readonly<Record<string, string>> = {
  'already-member': 'The address belongs to an owner of the facility.',
  'other-kind': 'The address belongs to a service account.',
  'too-many': 'The facility has too many members and open invitations.',
};
