// POST /api/bookings: how does a booking come to be? Faults first, then one statement that the database may refuse.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, type ErrorCode, unavailable } from '../errors.ts';
import type { Catalogue } from '../places/catalogue.ts';
import type { Booking } from './booking.ts';
import { newBookingId } from './booking-id.ts';
import { type AnswerStore, findKeyErrors, type KeyedRequest, keptAnswer, keyedRequest } from './idempotency.ts';
import { bookingResponse } from './resource.ts';
import type { BookingStore, CreateOutcome } from './storage/store.ts';
import { examine, obstacleCodes, refusal, triesAtMost, type Wanted, type WantedFields } from './validation.ts';

export interface BookingServices {
  readonly store: BookingStore;
  readonly answers: AnswerStore;
  readonly catalogue: Catalogue;
  readonly link: MakeLink;
  readonly now: () => Date;
}

export interface CreateRequest {
  readonly body: WantedFields & { readonly externalBookingId?: string; readonly correlationId?: string };
  readonly validationErrors: readonly ValidationError[];
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
}

export function createBookingCreator(services: BookingServices) {
  const { store, answers, catalogue, link } = services;

  return async ({
    body,
    validationErrors: found,
    idempotencyKey: key,
    caller,
  }: CreateRequest): Promise<EndpointResponse> => {
    const now = services.now();
    const { externalBookingId, correlationId } = body;
    const context = { externalBookingId: externalBookingId ?? '' };
    const unusable = findKeyErrors(key);
    const validationErrors = [...found, ...unusable];
    const whole = validationErrors.length === 0 ? body : undefined;
    const keyed = key === undefined || unusable.length > 0 ? undefined : keyedRequest(key, caller, whole);
    // Before any fault is looked for: what was right then may be in the past by now.
    const known = keyed && (await answers.recall(keyed, caller, context, now));
    if (known) return known;

    const wanted = await examine(body, validationErrors, { catalogue, facilities: caller.facilities, now });
    const { change } = wanted;
    if (!change) throw refusal(wanted, context, await obstacles(wanted, context, []));

    const booking: Booking = {
      id: newBookingId(change.place.facilityId, now),
      facilityId: change.place.facilityId,
      externalBookingId,
      correlationId,
      bayId: change.bayId,
      userAlias: change.userAlias,
      startDate: change.startDate,
      endDate: change.endDate,
      createdAt: now.toISOString(),
      lastUpdatedAt: now.toISOString(),
      version: 1,
    };
    const answer = created(booking);
    for (let attempt = 1; attempt <= triesAtMost; attempt += 1) {
      const outcome = await store.create(booking, keyed && keptAnswer(keyed, answer, now));
      const settled = await settle(outcome, { answer, wanted, context, keyed, caller, now });
      if (settled) return settled;
    }
    throw unavailable(new Error(`what spoke against a booking was gone ${triesAtMost} times when it was looked for`));
  };

  function created(booking: Booking): EndpointResponse {
    const { status, body, headers } = bookingResponse(201, booking, link);
    return { status, body, headers: { ...headers, Location: link('GET', `/api/bookings/${booking.id}`).href } };
  }

  /**
   * Undefined: nothing speaks against it any more; the bay was opened, or the overlapping booking went, in this moment.
   */
  async function settle(
    outcome: CreateOutcome,
    { answer, wanted, context, keyed, caller, now }: Settlement,
  ): Promise<EndpointResponse | undefined> {
    if (outcome === 'created') return answer;
    if (outcome === 'in flight') throw apiError('ERR00409', { context, headers: { 'Retry-After': '1' } });
    if (outcome === 'repeated') {
      const known = keyed && (await answers.recall(keyed, caller, context, now));
      if (known) return known;
      throw unavailable(new Error('an answer was kept and is gone'));
    }
    const found = await obstacles(wanted, context, outcome === 'duplicate' ? ['BOOK00001'] : []);
    if (found.size > 0) throw refusal(wanted, context, found);
    return undefined;
  }

  /** What the database found (`codes`), and what it did not come to. */
  async function obstacles(wanted: Wanted, { externalBookingId }: Settlement['context'], codes: readonly ErrorCode[]) {
    const found = new Set(codes);
    if (externalBookingId !== '' && (await store.isReferenced(externalBookingId))) found.add('BOOK00001');
    for (const code of await obstacleCodes(wanted, store)) found.add(code);
    return found;
  }
}

interface Settlement {
  readonly answer: EndpointResponse;
  readonly wanted: Wanted;
  readonly context: { externalBookingId: string };
  readonly keyed: KeyedRequest | undefined;
  readonly caller: Caller;
  readonly now: Date;
}
