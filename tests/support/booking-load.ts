// Creates bookings in a loop while a test makes a part of the system fail. Several workers send requests at the same
// time. After a failure, a worker sends the same booking to the next instance, as the system of a partner would. The
// tests then compare the responses with the database.

import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@bay-booking/testkit/wait';
import { callApi } from './api.ts';

export interface BookingResponse {
  /** The status of the response, or 0 when there was no response. */
  readonly status: number;
  /** The error codes in the body, such as BOOK00001. */
  readonly codes: readonly string[];
  readonly retryAfter: string | null;
  readonly milliseconds: number;
}

/** Creates a booking. A request without a complete response within 20 s has the status 0. */
export async function book(base: string, token: string, booking: object): Promise<BookingResponse> {
  const start = performance.now();
  const response = await callApi<{ errors?: { code: string }[] } | undefined>(
    base,
    token,
    'POST',
    '/api/bookings',
    booking,
  ).catch(() => undefined);
  return {
    status: response?.status ?? 0,
    codes: response?.body?.errors?.map(({ code }) => code) ?? [],
    retryAfter: response?.headers.get('retry-after') ?? null,
    milliseconds: Math.round(performance.now() - start),
  };
}

/** The ids of the bays from bay-n1-01 to bay-n1-10, which are in the demo. */
const bays = Array.from({ length: 10 }, (_, index) => `bay-n1-${String(index + 1).padStart(2, '0')}`);

const firstStart = Date.UTC(2040, 0, 1);
const lengthMs = 60_000;
/** The pause before a booking is sent again. */
const retryDelayMs = 50;
/** The pause after a booking. A load without pauses would use the cores that the failing system needs to recover. */
const pauseMs = 50;
let bookingCount = 0;

interface Booking {
  readonly externalBookingId: string;
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
}

/** Returns a new booking. No other booking of this test run has the same bay at the same time. */
export const nextBooking = (): Booking => bookingOf(bookingCount++);

/** Returns the booking that `nextBooking` returned with this external id, so that it can be sent again. */
export const bookingWithExternalId = (externalBookingId: string): Booking =>
  bookingOf(Number(externalBookingId.slice('load-'.length)));

/** Returns booking number `number` of this test run. Ten bookings in a row have the same times and different bays. */
function bookingOf(number: number): Booking {
  const start = firstStart + Math.floor(number / bays.length) * lengthMs;
  return {
    externalBookingId: `load-${number}`,
    bayId: bays[number % bays.length] as string,
    userAlias: 'load',
    startDate: new Date(start).toISOString(),
    endDate: new Date(start + lengthMs).toISOString(),
  };
}

export interface LoadOptions {
  readonly workers?: number;
  /** Whether a worker sends a booking again after a failure. */
  readonly retry?: boolean;
}

export type Load = ReturnType<typeof startLoad>;

/** Starts workers that create bookings until `stop` is called. They send requests to the instances in turn. */
export function startLoad(bases: readonly string[], token: string, { workers = 6, retry = true }: LoadOptions = {}) {
  const acknowledged = new Set<string>();
  const responses: BookingResponse[] = [];
  let isStopping = false;
  const worker = async (index: number): Promise<void> => {
    for (let turn = index; !isStopping; turn += 1) {
      const booking = nextBooking();
      // Every booking is sent at least once. When the load is stopping, no booking is sent again.
      for (let attempt = 0; !isStopping || attempt === 0; attempt += 1) {
        const response = await book(bases[(turn + attempt) % bases.length] as string, token, booking);
        responses.push(response);
        // BOOK00001 means that the external id exists already. In a repeated attempt, it shows that an earlier attempt
        // has created the booking, although the response was lost.
        if (response.status === 201 || (attempt > 0 && response.codes.includes('BOOK00001'))) {
          acknowledged.add(booking.externalBookingId);
          await pause(pauseMs);
          break;
        }
        if (!retry) break;
        await pause(retryDelayMs);
      }
    }
  };
  const done = Promise.all(Array.from({ length: workers }, (_, index) => worker(index)));
  return {
    /** The external ids of the bookings whose creation the service has confirmed to a worker. */
    acknowledged,
    responses,
    /** The number of responses of each status so far. 0 stands for requests without a response. */
    statuses: () => {
      const counts: Record<number, number> = {};
      for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    },
    /** The duration of the slowest request in milliseconds. */
    longest: () => Math.max(0, ...responses.map(({ milliseconds }) => milliseconds)),
    /** Stops the workers after their current requests. */
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}

/** Waits until the load has created `count` further bookings. */
export const waitForBookings = (load: Load, count: number): Promise<true> => {
  const target = load.acknowledged.size + count;
  return eventually(async () => load.acknowledged.size >= target);
};
