// Describes and handles GET /api/me, which returns what the access token allows.
import { namedSchema, responseSchema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import type { Caller } from '../auth/caller.ts';
import { dateTimeSchema, defineEndpoint, type EndpointServices, string } from '../http/endpoint-parts.ts';
import type { Facility, PlacesStore } from '../places/store.ts';

const path = '/api/me';

const meSchema = namedSchema('Me', {
  clientId: { ...string, description: 'The client of the token.' },
  subject: { ...string, description: 'The account, or the client that acts for itself. Owns holds and webhooks.' },
  scopes: { type: 'array', items: string, description: 'The scopes of the token.' },
  facilities: {
    type: 'array',
    description: 'The facilities of the token, by name.',
    items: responseSchema({
      id: { ...string, description: 'Facility ID.' },
      name: { ...string, description: 'Facility name.' },
      timeZone: { ...string, description: 'Time zone of the facility, such as Europe/Copenhagen.' },
    }),
  },
  expiresAt: { ...dateTimeSchema, description: 'When the token expires, UTC.' },
  _links: linksSchema('self'),
});

type TokenDescription = Pick<Caller, 'clientId' | 'subject' | 'scopes' | 'expiresAt'>;
const facilityExample: Facility = { id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen' };
const callerExample: TokenDescription = {
  clientId: 'demo-pat-north',
  subject: 'acc-bot-north',
  scopes: ['https://bay-booking.example/golf/bookings'],
  expiresAt: Date.UTC(2030, 4, 1, 10) / 1000,
};

export function createMeEndpoint({ places, link }: EndpointServices & { readonly places: PlacesStore }) {
  const resourceOf = ({ clientId, subject, scopes, expiresAt }: TokenDescription, facilities: readonly Facility[]) => ({
    clientId,
    subject,
    scopes,
    facilities,
    expiresAt: new Date(expiresAt * 1000).toISOString(),
    _links: { self: link('GET', path) },
  });
  return defineEndpoint({
    operationId: 'getMe',
    method: 'GET',
    path,
    access: 'read',
    tag: 'Token',
    summary: 'Get what the access token allows',
    description: 'The client, the subject, the scopes, the facilities and the expiry of the access token.',
    success: {
      status: 200,
      description: 'What the token allows.',
      schema: meSchema,
      example: resourceOf(callerExample, [facilityExample]),
    },
    handle: async ({ caller }) => ({
      status: 200,
      body: resourceOf(caller, await places.findFacilities(caller.facilities)),
    }),
  });
}
