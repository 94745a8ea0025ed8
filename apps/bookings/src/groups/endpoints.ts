// Describes and handles the endpoints for groups of bookings (docs/behaviour.md, "Groups").
import { createExample, newBookingExample, updateExample } from '../bookings/booking.ts';
import type { WriteServices } from '../bookings/drafts.ts';
import { apiError } from '../errors.ts';
import { defineEndpoint, deletionParts, itemSuccess, sharedHeaders, string } from '../http/endpoint-parts.ts';
import {
  createGroupSchema,
  dryRunSchema,
  groupRequestSchema,
  groupSchema,
  maxBookings,
  replaceGroupSchema,
} from './schema.ts';
import { createGroup, deleteGroup, facilitiesOfGroup, groupResource, groupResponse, replaceGroup } from './write.ts';

const tag = 'Groups';
/** For the largest metadata in every booking. */
const bodyLimit = 3_000_000;
const exampleId = '019d1c3e-7c00-7c5d-9e0f-1a2b3c4d3c1d';
const params = { id: { description: 'Group ID.', schema: string, example: exampleId } } as const;
const { externalBookingId: _, ...memberExample } = createExample;
const otherBay = { bayId: 'bay-n1-02' };

export function createGroupEndpoints(services: WriteServices) {
  const { store, link } = services;
  const member = { ...newBookingExample, externalBookingId: null, groupId: exampleId };
  const otherMember = { ...member, ...otherBay, id: '019d1c3e-7c00-7b2c-8d3e-4f5a6b7c3c1d' };
  const success = itemSuccess('group', groupSchema, groupResource(exampleId, [member, otherMember], link));

  return [
    defineEndpoint({
      operationId: 'createBookingGroup',
      method: 'POST',
      path: '/api/booking-groups',
      tag,
      access: 'write',
      summary: 'Create several bookings, all or none',
      description:
        `Books for example three bays for a party, or a bay every week: 1 to ${maxBookings} bookings of one facility. ` +
        'Any error rejects all of them. The response reports every error that can be found, with the `index` of its booking in ' +
        '`contextData`. Several bookings may use one hold that contains them. The body has at most 3 MB.',
      headers: sharedHeaders.idempotencyKey,
      body: groupRequestSchema,
      documentedBody: createGroupSchema,
      bodyExample: { bookings: [memberExample, { ...memberExample, ...otherBay }] },
      bodyLimit,
      success: { ...success, status: 201, headers: sharedHeaders.creation },
      otherSuccess: {
        status: 200,
        description: 'With `dryRun`: the bookings could be created.',
        schema: dryRunSchema,
        example: { bookings: [] },
      },
      handlesValidationErrors: true,
      handle: (request) => createGroup(services, request),
    }),
    defineEndpoint({
      operationId: 'getBookingGroup',
      method: 'GET',
      path: '/api/booking-groups/{id}',
      tag,
      access: 'read',
      summary: 'Get the bookings of a group',
      description: 'The bookings of the group as they are now, by startDate, then id. A group without bookings is 404.',
      params,
      headers: sharedHeaders.ifNoneMatch,
      success,
      handle: async ({ params: { id = '' }, caller }) => {
        for (const facilityId of facilitiesOfGroup(id, caller)) {
          const bookings = await store.findGroup(facilityId, id);
          if (bookings.length > 0) return groupResponse(200, id.toLowerCase(), bookings, link);
        }
        throw apiError('ERR00404');
      },
    }),
    defineEndpoint({
      operationId: 'replaceBookingGroup',
      method: 'PUT',
      path: '/api/booking-groups/{id}',
      tag,
      access: 'write',
      summary: 'Change a group, all or nothing',
      description:
        'Makes the group exactly this. An entry with the `id` of a booking of the group changes it, like a PUT of the ' +
        'booking. An entry without `id` creates a booking. A booking that is left out and has not ended is deleted. ' +
        'Bookings that have ended stay and are not named. Two bookings may exchange their bays or times.',
      params,
      headers: sharedHeaders.ifMatch,
      body: groupRequestSchema,
      documentedBody: replaceGroupSchema,
      bodyExample: {
        bookings: [
          { id: member.id, ...updateExample },
          { ...memberExample, ...otherBay },
        ],
      },
      bodyLimit,
      success: {
        ...success,
        description: 'The group, or with `dryRun` an empty list of bookings.',
        schema: { anyOf: [groupSchema, dryRunSchema] },
      },
      handlesValidationErrors: true,
      handle: (request) => replaceGroup(services, request),
    }),
    defineEndpoint({
      operationId: 'deleteBookingGroup',
      method: 'DELETE',
      path: '/api/booking-groups/{id}',
      tag,
      access: 'write',
      summary: 'Delete the bookings of a group',
      description: 'Deletes the bookings of the group that have not ended.',
      params,
      ...deletionParts,
      handle: (request) => deleteGroup(services, request),
    }),
  ];
}
