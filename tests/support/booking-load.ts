// Who books while things break? Workers that each book slot after slot, and after a failure try the same booking again elsewhere, as a
// partner's system would. What they were told is held against the database afterwards.
import { eventually } from './services.ts';

export interface BookingResponse {
  /** 0 where no answer came. */
  readonly status: number;
  readonly codes: readonly string[];
  readonly retryAfter: string | null;
  readonly milliseconds: number;
}

export async function book(base: string, token: string, body: Record<string, string>): Promise<BookingResponse> {
  const start = performance.now();
  const taken = (): number => Math.round(performance.now() - start);
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
      milliseconds: taken(),
    };
  } catch {
    return { status: 0, codes: [], retryAfter: null, milliseconds: taken() };
  }
}

const bays = Array.from({ length: 10 }, (_, index) => `bay-n1-${String(index + 1).padStart(2, '0')}`);
const firstStart = Date.UTC(2040, 0, 1);
let made = 0;

interface Booking {
  readonly [field: string]: string;
  readonly externalBookingId: string;
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
}

/** A slot that nobody else in this run has. */
export const nextBooking = (): Booking => bookingOf(made++);

/** The booking of that external id, to be sent once more. */
export const sameBooking = (externalBookingId: string): Booking =>
  bookingOf(Number(externalBookingId.slice('fault-'.length)));

function bookingOf(number: number): Booking {
  const start = firstStart + Math.floor(number / bays.length) * 60_000;
  return {
    externalBookingId: `fault-${number}`,
    bayId: bays[number % bays.length] as string,
    userAlias: 'fault',
    startDate: new Date(start).toISOString(),
    endDate: new Date(start + 60_000).toISOString(),
  };
}

export interface Load {
  /** External ids of bookings that a worker was told to be made. */
  readonly acknowledged: ReadonlySet<string>;
  readonly answers: readonly BookingResponse[];
  /** How many answers of each status so far; 0 is no answer. */
  readonly statuses: () => Readonly<Record<number, number>>;
  readonly longest: () => number;
  readonly stop: () => Promise<void>;
}

export interface LoadOptions {
  readonly workers?: number;
  /** Without it a failed booking is given up. */
  readonly tryAgain?: boolean;
}

export function startLoad(
  bases: readonly string[],
  token: string,
  { workers = 6, tryAgain = true }: LoadOptions = {},
): Load {
  const acknowledged = new Set<string>();
  const answers: BookingResponse[] = [];
  let stopping = false;
  const worker = async (index: number): Promise<void> => {
    for (let turn = index; !stopping; turn += 1) {
      const booking = nextBooking();
      for (let attempt = 0; !stopping || attempt === 0; attempt += 1) {
        const answer = await book(bases[(turn + attempt) % bases.length] as string, token, booking);
        answers.push(answer);
        // A try without an answer may have been kept.
        if (answer.status === 201 || (attempt > 0 && answer.codes.includes('BOOK00001'))) {
          acknowledged.add(booking.externalBookingId);
          break;
        }
        if (!tryAgain) break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const done = Promise.all(Array.from({ length: workers }, (_, index) => worker(index)));
  return {
    acknowledged,
    answers,
    statuses: () => {
      const counts: Record<number, number> = {};
      for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    },
    longest: () => Math.max(0, ...answers.map(({ milliseconds }) => milliseconds)),
    stop: async () => {
      stopping = true;
      await done;
    },
  };
}

/** The load has had this many more successes. */
export const waitForBookings = (load: Load, more: number): Promise<true> => {
  const from = load.acknowledged.size;
  return eventually(async () => load.acknowledged.size >= from + more || undefined);
};
