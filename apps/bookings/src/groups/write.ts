// Handles PUT and DELETE /api/booking-groups/{id}: makes the group what the request says, or deletes its bookings.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import { isStrict } from '@bay-booking/service/http/api/preferences';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller } from '../auth/caller.ts';
import {
  changeOfDraft,
  type Draft,
  draftsError,
  holdIdsOf,
  isUnchanged,
  newBooking,
  validateDrafts,
} from '../bookings/drafts.ts';
import type { Booking } from '../bookings/resource.ts';
import type { Outcome, Wanted } from '../bookings/storage/store.ts';
import { apiError } from '../errors.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import { findLikelyFacilities, isUuid } from '../places/tagged-id.ts';
import type { GroupServices } from './endpoints.ts';
import { memberOf } from './members.ts';
import { checkIfMatch, groupEtag, groupResponse } from './resource.ts';
import type { groupRequestSchema } from './schema.ts';

/**
 * A booking that moves to another facility leaves its group, so a group stays at the facility of its id. Few facilities
 * have the same tag.
 */
export const facilitiesOfGroup = (id: string, { facilities }: Caller): readonly string[] =>
  isUuid(id) ? findLikelyFacilities(facilities, id) : [];

type Changes = Pick<Wanted, 'facilityOfBays' | 'create' | 'update' | 'delete' | 'holdIds' | 'dryRun'>;

interface Group {
  readonly id: string;
  readonly facilityId: string;
  readonly members: readonly Booking[];
  readonly at: Date;
}

/**
 * Writes the changes that `plan` returns for the group. If another request changes the group meanwhile, `plan` is
 * called again.
 */
async function writeGroup(
  { groups, store, now }: GroupServices,
  request: ApiRequest,
  plan: (group: Group) => Promise<Changes>,
): Promise<{ readonly group: Group; readonly outcome: Outcome }> {
  const id = (request.params.id ?? '').toLowerCase();
  const ifMatch = request.header('if-match');
  for (const facilityId of facilitiesOfGroup(id, request.caller)) {
    for (;;) {
      const members = await groups.find(facilityId, id);
      if (members.length === 0) break;
      checkIfMatch(ifMatch, members);
      const group = { id, facilityId, members, at: now() };
      const changes = await plan(group);
      const check = (locked: readonly Booking[]) => groupEtag(locked) === groupEtag(members);
      const lock = groups.lock(facilityId, id);
      const outcome = await store.write({ ...changes, lock, check, at: group.at, sender: request });
      if (outcome) return { group, outcome };
    }
  }
  throw apiError('ERR00404');
}

const hasEnded = ({ endDate }: Booking, at: Date): boolean => Date.parse(endDate) <= at.getTime();

export async function deleteGroup(services: GroupServices, request: ApiRequest): Promise<EndpointResponse> {
  await writeGroup(services, request, async ({ members, at }) => ({
    facilityOfBays: undefined,
    delete: members.filter((member) => !hasEnded(member, at)).map(({ id }) => id),
  }));
  return { status: 204 };
}

export async function replaceGroup(
  services: GroupServices,
  request: ApiRequest<unknown, Partial<FromSchema<typeof groupRequestSchema>>>,
): Promise<EndpointResponse> {
  const { body, caller, validationErrors: requestErrors } = request;
  const { dryRun } = body;
  const strict = isStrict(request.header('prefer'));
  let drafts: readonly Draft[] = [];
  let kept: readonly Booking[] = [];
  const plan = async ({ id, facilityId, members, at }: Group): Promise<Changes> => {
    const running = new Map(members.filter((member) => !hasEnded(member, at)).map((member) => [member.id, member]));
    const requests = (body.bookings ?? []).map((input, index, all) => {
      const entry = memberOf(input, index, strict, running);
      const isRepeated = entry.id !== undefined && all.findIndex((other) => isSameId(other.id, entry.id)) < index;
      return isRepeated ? { ...entry, errors: [...entry.errors, invalidId(index, 'is named twice')] } : entry;
    });
    const bookingIds = [...running.keys()];
    const options = { caller, now: at, requestErrors, dryRun, facilityId, bookingIds };
    drafts = await validateDrafts(services, requests, options);
    const named = new Set(drafts.flatMap((draft) => draft.id ?? []));
    const created = drafts.filter((draft) => draft.id === undefined);
    const changed = drafts.filter((draft) => draft.id !== undefined && !isUnchanged(draft));
    // The conflicts of `write` have this order.
    drafts = [...created, ...changed];
    const changedIds = new Set(changed.map((draft) => draft.id));
    kept = members.filter((member) => !running.has(member.id) || (named.has(member.id) && !changedIds.has(member.id)));
    return {
      facilityOfBays: facilityId,
      create: created.map((draft) => newBooking(draft, at, id)),
      update: changed.map((draft) => ({ id: draft.id as string, change: changeOfDraft(draft) })),
      delete: bookingIds.filter((member) => !named.has(member)),
      holdIds: holdIdsOf(drafts),
      dryRun,
    };
  };
  const { group, outcome } = await writeGroup(services, request, plan);
  if (outcome.conflicts.length > 0) throw draftsError(drafts, outcome.conflicts);
  if (dryRun) return { status: 200, body: { bookings: [] }, headers: { ETag: `"${groupEtag(group.members)}"` } };
  const bookings = [...kept, ...outcome.bookings].toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  return groupResponse(200, group.id, bookings, services.link);
}

const sortKey = ({ startDate, id }: Booking): string => `${startDate} ${id}`;

const isSameId = (a: unknown, b: string | undefined): boolean => typeof a === 'string' && a.toLowerCase() === b;

const invalidId = (index: number, hint: string): ValidationError => ({
  field: 'id',
  kind: 'invalid',
  hint,
  path: `bookings[${index}].id`,
});
