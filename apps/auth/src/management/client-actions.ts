// Describes and handles how operators rotate client secrets, and list and revoke personal access tokens.
import { type Endpoint, responseSchema } from '@bay-booking/common/endpoint';
import { textSchema } from '@bay-booking/common/text';
import { listEndpoint } from '@bay-booking/records/endpoints';
import type { Operator, RecordStore } from '@bay-booking/records/record';
import { accessLevels, usesSecret } from '../clients/metadata.ts';
import { findDisabledEverywhere, listTokens, revokeToken } from '../clients/personal-access-token-store.ts';
import { newClientSecret, rotateSecret, selectClients } from '../clients/store.ts';
import type { Services } from '../services.ts';
import { accountErrors, actionTag, facilityFilter, operatorAction } from './actions.ts';

const { apiError } = accountErrors;
const defaultOverlapHours = 24;
const string = { type: 'string' } as const;
const nullable = { type: ['string', 'null'] } as const;
const time = { type: 'string', format: 'date-time' } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;

export const tokenSchema = responseSchema({
  client_id: string,
  name: nullable,
  accountId: string,
  access: { enum: accessLevels },
  facilities: { type: ['array', 'null'], items: string, description: 'Null: all facilities of the account.' },
  createdAt: time,
  lastUsedAt: nullableTime,
  expiresAt: nullableTime,
});

export function clientActions(
  store: RecordStore,
  { facilityEmails }: Pick<Services, 'facilityEmails'>,
): readonly Endpoint<Operator>[] {
  const changes = operatorAction(store);
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
        if ((await findDisabledEverywhere(tx, [id])).has(id)) throw apiError('FACILITY00001');
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
    listEndpoint(store, {
      operationId: 'listPersonalAccessTokens',
      collection: 'personal-access-tokens',
      tag: actionTag,
      summary: 'List personal access tokens',
      description: 'The tokens that are neither revoked nor expired, by id.',
      filters: {
        accountId: { ...textSchema, description: 'Account ID.' },
        ...facilityFilter,
      },
      item: tokenSchema,
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
