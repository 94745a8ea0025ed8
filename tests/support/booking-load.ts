// Creates bookings in a loop while a test makes a part of the system fail. After a failure, a worker sends the same
// booking to the next instance, as the system of a partner would. The tests then compare the responses with the
// database.
import { eventually } from './wait.ts';

export interface BookingResponse {
  /** The status of the response, or 0 when there was no response. */
  readonly status: number;
  readonly codes: readonly string[];
  readonly retryAfter: string | null;
  readonly milliseconds: number;
}

export async function book(base: string, token: string, body: Record<string, string>): Promise<BookingResponse> {
  const start = performance.now();
  const elapsed = (): number => Math.round(performance.now() - start);
  try {
    const response = await fetch(`${base}/api/bookings`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await response.text();
    const errors: { code: string }[] = JSON.parse(text).errors ?? [];
    return {
      status: response.status,
      codes: errors.map(({ code }) => code),
      retryAfter: response.headers.get('retry-after'),
      milliseconds: elapsed(),
    };
  } catch {
    return { status: 0, codes: [], retryAfter: null, milliseconds: elapsed() };
  }
}

const bays = Array.from({ length: 10 }, (_, index) => `bay-n1-${String(index + 1).padStart(2, '0')}`);
/** The userAlias of every booking of the load. */
export const loadUser = 'load';

const firstStart = Date.UTC(2040, 0, 1);
let bookingCount = 0;

interface Booking {
  readonly [field: string]: string;
  readonly externalBookingId: string;
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
}

/** Returns a new booking, at a time that no other booking of this test run has. */
export const nextBooking = (): Booking => bookingOf(bookingCount++);

/** Returns the booking that `nextBooking` returned with this external id, so that it can be sent again. */
export const bookingWithExternalId = (externalBookingId: string): Booking =>
  bookingOf(Number(externalBookingId.slice('load-'.length)));

function bookingOf(number: number): Booking {
  const start = firstStart + Math.floor(number / bays.length) * 60_000;
  return {
    externalBookingId: `load-${number}`,
    bayId: bays[number % bays.length] as string,
    userAlias: loadUser,
    startDate: new Date(start).toISOString(),
    endDate: new Date(start + 60_000).toISOString(),
  };
}

export interface Load {
  /** The external ids of the bookings whose creation the service has confirmed to a worker. */
  readonly acknowledged: ReadonlySet<string>;
  readonly responses: readonly BookingResponse[];
  /** The number of responses of each status so far. 0 stands for requests without a response. */
  readonly statuses: () => Readonly<Record<number, number>>;
  /** The duration of the slowest request in milliseconds. */
  readonly longest: () => number;
  readonly stop: () => Promise<void>;
}

export interface LoadOptions {
  readonly workers?: number;
  /** Whether a worker sends a failed booking again. */
  readonly retry?: boolean;
}

export function startLoad(
  bases: readonly string[],
  token: string,
  { workers = 6, retry = true }: LoadOptions = {},
): Load {
  const acknowledged = new Set<string>();
  const responses: BookingResponse[] = [];
  let isStopping = false;
  const worker = async (index: number): Promise<void> => {
    for (let turn = index; !isStopping; turn += 1) {
      const booking = nextBooking();
      for (let attempt = 0; !isStopping || attempt === 0; attempt += 1) {
        const response = await book(bases[(turn + attempt) % bases.length] as string, token, booking);
        responses.push(response);
        // BOOK00001 means that the external id exists. An earlier attempt without a response has then created the
        // booking.
        if (response.status === 201 || (attempt > 0 && response.codes.includes('BOOK00001'))) {
          acknowledged.add(booking.externalBookingId);
          break;
        }
        if (!retry) break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const done = Promise.all(Array.from({ length: workers }, (_, index) => worker(index)));
  return {
    acknowledged,
    responses,
    statuses: () => {
      const counts: Record<number, number> = {};
      for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    },
    longest: () => Math.max(0, ...responses.map(({ milliseconds }) => milliseconds)),
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}

/** Waits until the load has created `more` further bookings. */
export const waitForBookings = (load: Load, more: number): Promise<true> => {
  const from = load.acknowledged.size;
  return eventually(async () => load.acknowledged.size >= from + more || undefined);
};
