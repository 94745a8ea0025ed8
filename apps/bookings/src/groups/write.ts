// Creates, replaces and deletes groups of bookings, all or none, and derives the JSON and the ETag of a group.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { ValidationError } from '@bay-booking/common/validation';
import { isStrict } from '@bay-booking/service/http/api/preferences';
import { contentHash, tagsToMatch } from '@bay-booking/service/http/etag';
import { type KeyedRequest, keyedRequest, newResponse } from '@bay-booking/service/idempotency';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { type Booking, bookingResource, etagOf, type NewBooking } from '../bookings/booking.ts';
import { newBooking, validateDrafts, type WriteServices, writeDrafts } from '../bookings/drafts.ts';
import { lockGroup, type Writes } from '../bookings/storage/store.ts';
import { findLikelyFacilities, isUuid, newTaggedId } from '../database/tagged-id.ts';
import { apiError } from '../errors.ts';
import { memberOf, requestsOfMembers } from './members.ts';
import type { groupRequestSchema } from './schema.ts';

type GroupRequest = CallerRequest<unknown, Partial<FromSchema<typeof groupRequestSchema>>>;

const nothingBooked = { bookings: [] };

export async function createGroup(services: WriteServices, request: GroupRequest): Promise<EndpointResponse> {
  const { store, idempotency, link } = services;
  const { dryRun, bookings: inputs = [] } = request.body;
  const now = services.now();
  const strict = isStrict(request.header('prefer'));
  const members = inputs.map((input, index) => memberOf(input, index, strict));
  const create = async (keyed: KeyedRequest | undefined, requestErrors: readonly ValidationError[]) => {
    const drafts = await validateDrafts(services, members, { caller: request.caller, now, requestErrors, dryRun });
    const id = newTaggedId(drafts[0]?.bay?.facilityId ?? '', now);
    const bookings = drafts.map((draft) => newBooking(draft, now, id));
    const { headers, ...created } = groupResponse(201, id, bookings, link);
    const response = { ...created, headers: { ...headers, Location: link('GET', groupPath(id)).href } };
    const stored = newResponse(keyed, response);
    await writeDrafts(store, drafts, { create: bookings, at: now, sender: request, response: stored, dryRun });
    return dryRun ? { status: 200, body: nothingBooked } : response;
  };
  const keyed = keyedRequest(request);
  if (!dryRun) return idempotency.once(keyed, { now }, () => create(keyed, request.validationErrors));
  // A dry run creates nothing that a repeated request could get, so it ignores the key.
  return create(
    undefined,
    request.validationErrors.filter(({ field }) => field !== 'Idempotency-Key'),
  );
}

export async function replaceGroup(services: WriteServices, request: GroupRequest): Promise<EndpointResponse> {
  const { store, link } = services;
  const { body, caller, validationErrors: requestErrors } = request;
  const { dryRun, bookings: inputs = [] } = body;
  const strict = isStrict(request.header('prefer'));
  return writeGroup(services, request, async ({ id, facilityId, members, writes }) => {
    const running = new Map(runningOf(members, writes.at).map((member) => [member.id, member]));
    const bookingIds = [...running.keys()];
    const options = { caller, now: writes.at, requestErrors, dryRun, facilityId, bookingIds };
    const drafts = await validateDrafts(services, requestsOfMembers(inputs, strict, running), options);
    const named = new Set(drafts.flatMap((draft) => draft.id ?? []));
    const deleted = bookingIds.filter((member) => !named.has(member));
    const create = drafts.filter((draft) => draft.id === undefined).map((draft) => newBooking(draft, writes.at, id));
    const written = await writeDrafts(store, drafts, { ...writes, create, delete: deleted, dryRun });
    if (!written) return undefined;
    if (dryRun) return { status: 200, body: nothingBooked, headers: { ETag: `"${groupEtag(members)}"` } };
    const replaced = new Set([...deleted, ...written.map((booking) => booking.id)]);
    const kept = members.filter((member) => !replaced.has(member.id));
    const bookings = [...kept, ...written].toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
    return groupResponse(200, id, bookings, link);
  });
}

export async function deleteGroup(services: WriteServices, request: CallerRequest): Promise<EndpointResponse> {
  await writeGroup(services, request, ({ members, writes }) =>
    services.store.write({ ...writes, delete: runningOf(members, writes.at).map(({ id }) => id) }),
  );
  return { status: 204 };
}

/**
 * Calls `write` with the stored group. If another request changes the group meanwhile, `write` returns undefined and is
 * called again.
 */
async function writeGroup<T>({ store, now }: WriteServices, request: CallerRequest, write: WriteGroup<T>): Promise<T> {
  const id = (request.params.id ?? '').toLowerCase();
  const etags = tagsToMatch(request.header('if-match'));
  for (const facilityId of facilitiesOfGroup(id, request.caller)) {
    for (;;) {
      const members = await store.findGroup(facilityId, id);
      if (members.length === 0) break;
      const etag = groupEtag(members);
      if (etags?.includes(etag) === false) throw apiError('ERR00412');
      const check = (locked: readonly Booking[]) => groupEtag(locked) === etag;
      const writes = { lock: lockGroup(facilityId, id), check, at: now(), sender: request };
      const result = await write({ id, facilityId, members, writes });
      if (result !== undefined) return result;
    }
  }
  throw apiError('ERR00404');
}

type WriteGroup<T> = (group: {
  readonly id: string;
  readonly facilityId: string;
  readonly members: readonly Booking[];
  readonly writes: Writes;
}) => Promise<T | undefined>;

/**
 * A booking that moves to another facility leaves its group, so a group stays at the facility of its id. Few facilities
 * have the same tag.
 */
export const facilitiesOfGroup = (id: string, { facilities }: Caller): readonly string[] =>
  isUuid(id) ? findLikelyFacilities(facilities, id) : [];

/** Bookings that have ended stay as they are. */
const runningOf = (members: readonly Booking[], at: Date): readonly Booking[] =>
  members.filter(({ endDate }) => Date.parse(endDate) > at.getTime());

const sortKey = ({ startDate, id }: Booking): string => `${startDate} ${id}`;

const groupPath = (id: string): string => `/api/booking-groups/${id}`;

export function groupResource(id: string, bookings: readonly NewBooking[], link: MakeLink) {
  const path = groupPath(id);
  return {
    id,
    bookings: bookings.map((booking) => bookingResource(booking, link)),
    _links: { self: link('GET', path), delete: link('DELETE', path) },
  };
}

export function groupResponse(status: number, id: string, bookings: readonly NewBooking[], link: MakeLink) {
  return { status, body: groupResource(id, bookings, link), headers: { ETag: `"${groupEtag(bookings)}"` } };
}

/** Changes with every change of a booking of the group. */
function groupEtag(bookings: readonly NewBooking[]): string {
  return contentHash(
    bookings
      .map((booking) => `${booking.id} ${etagOf(booking)}`)
      .sort()
      .join(),
  );
}
