// Creates, changes, moves and deletes bookings in a loop while a test makes a part of the system fail.
import { setTimeout as pause } from 'node:timers/promises';
import { callApi } from './api.ts';

const bays = {
  'fac-north': ['bay-n1-01', 'bay-n1-02', 'bay-n1-03', 'bay-n1-04'],
  'fac-south': ['bay-s1-01', 'bay-s1-02', 'bay-s1-03', 'bay-s1-04'],
} as const;
type Facility = keyof typeof bays;
const firstStart = Date.UTC(2060, 0, 1);
/** The pause before a request is sent again. */
const retryDelayMs = 50;
/** The pause after the writes of a booking. Without pauses, the deliveries of the changes would take minutes. */
const pauseMs = 50;
/** The length of each booking in milliseconds. */
const slotMs = 60_000;
/** Each writer has its own time slots, so that the bookings of two writers never conflict. */
const slotsPerWriter = 100_000;

export type BookingWriters = ReturnType<typeof startBookingWriters>;

/**
 * Starts `count` writers, which send requests to the addresses in `bases` in turn. If the test changes this array, the
 * next requests go to the new addresses.
 */
export function startBookingWriters(bases: readonly string[], token: string, count: number) {
  const unexpectedStatuses: number[] = [];
  let writes = 0;
  let turn = 0;
  let isStopping = false;

  /** Sends a request until it gets a response other than 503. Returns the id of the booking, if the body has one. */
  async function send(method: string, path: string, booking?: object): Promise<{ status: number; id: string }> {
    for (;;) {
      turn += 1;
      const base = bases[turn % bases.length] as string;
      // There is no response when the test kills the instance during the request.
      const response = await callApi<{ id?: string } | undefined>(base, token, method, path, booking).catch(() => null);
      if (response && response.status !== 503) {
        const { status, body } = response;
        if (status < 300) writes += 1;
        // An earlier attempt without a response may have succeeded. The repeated request can then return 400 (the bay
        // is taken) or 404 (the booking is deleted).
        else if (status !== 400 && status !== 404) unexpectedStatuses.push(status);
        return { status, id: body?.id ?? '' };
      }
      await pause(retryDelayMs);
    }
  }

  /**
   * Creates bookings in the two facilities in turn, and changes each booking. Moves every third booking to the other
   * facility, and deletes every fourth.
   */
  async function write(writer: number): Promise<void> {
    const firstSlot = writer * slotsPerWriter;
    const bookingOf = (facility: Facility, number: number) => ({
      bayId: bays[facility][number % bays[facility].length],
      userAlias: `writer-${writer}`,
      startDate: new Date(firstStart + (firstSlot + number) * slotMs).toISOString(),
      endDate: new Date(firstStart + (firstSlot + number + 1) * slotMs).toISOString(),
    });
    for (let number = 0; !isStopping; number += 1) {
      const [facility, otherFacility]: [Facility, Facility] =
        number % 2 === 0 ? ['fac-north', 'fac-south'] : ['fac-south', 'fac-north'];
      const { id, status } = await send('POST', '/api/bookings', bookingOf(facility, number));
      if (status !== 201) continue;
      await send('PUT', `/api/bookings/${id}`, { ...bookingOf(facility, number), userAlias: `changed-${number}` });
      if (number % 3 === 0) await send('PUT', `/api/bookings/${id}`, bookingOf(otherFacility, number));
      if (number % 4 === 0) await send('DELETE', `/api/bookings/${id}`);
      await pause(pauseMs);
    }
  }

  const done = Promise.all(Array.from({ length: count }, (_, writer) => write(writer)));
  return {
    /** The number of acknowledged writes so far. */
    writes: () => writes,
    /** The statuses of responses other than success, 400, 404 and 503. */
    unexpectedStatuses,
    /** Stops the writers after their current bookings. */
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}
