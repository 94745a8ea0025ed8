// Creates, changes, moves and deletes bookings in a loop while a test makes a part of the system fail.

export interface BookingWriters {
  /** The number of acknowledged writes so far. */
  readonly writes: () => number;
  /** The statuses that must not occur, even during a failure. */
  readonly unexpectedStatuses: readonly number[];
  readonly stop: () => Promise<void>;
}

const bays = {
  'fac-north': ['bay-n1-01', 'bay-n1-02', 'bay-n1-03', 'bay-n1-04'],
  'fac-south': ['bay-s1-01', 'bay-s1-02', 'bay-s1-03', 'bay-s1-04'],
} as const;
const firstStart = Date.UTC(2060, 0, 1);
const slot = 60_000;
/** Each writer has its own time slots, so that no booking is refused because of another one. */
const slotsPerWriter = 100_000;

/** Starts `count` writers. They send requests to the instances in turn. The test may change `bases` meanwhile. */
export function startBookingWriters(bases: readonly string[], token: string, count: number): BookingWriters {
  const unexpectedStatuses: number[] = [];
  let writes = 0;
  let turn = 0;
  let isStopping = false;

  /** Sends a request until it gets a response other than 503. */
  async function send(method: string, path: string, body?: object): Promise<{ status: number; id: string }> {
    for (;;) {
      turn += 1;
      try {
        const response = await fetch(bases[turn % bases.length] + path, {
          method,
          headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(20_000),
        });
        const text = await response.text();
        const { status } = response;
        if (status < 300) writes += 1;
        // An earlier attempt without a response may have succeeded. The repeated request can then return 400 (the bay
        // is taken) or 404 (the booking is deleted).
        else if (status !== 400 && status !== 404 && status !== 503) unexpectedStatuses.push(status);
        if (status !== 503) return { status, id: text ? (JSON.parse(text).id ?? '') : '' };
      } catch {
        // The instance was killed.
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function write(writer: number): Promise<void> {
    const from = writer * slotsPerWriter;
    const bookingOf = (facility: keyof typeof bays, number: number) => ({
      bayId: bays[facility][number % bays[facility].length],
      userAlias: `writer-${writer}`,
      startDate: new Date(firstStart + (from + number) * slot).toISOString(),
      endDate: new Date(firstStart + (from + number + 1) * slot).toISOString(),
    });
    for (let number = 0; !isStopping; number += 1) {
      const [here, there] =
        number % 2 === 0 ? (['fac-north', 'fac-south'] as const) : (['fac-south', 'fac-north'] as const);
      const { id, status } = await send('POST', '/api/bookings', bookingOf(here, number));
      if (status !== 201) continue;
      await send('PUT', `/api/bookings/${id}`, { ...bookingOf(here, number), userAlias: `changed-${number}` });
      if (number % 3 === 0) await send('PUT', `/api/bookings/${id}`, bookingOf(there, number));
      if (number % 4 === 0) await send('DELETE', `/api/bookings/${id}`);
    }
  }

  const done = Promise.all(Array.from({ length: count }, (_, writer) => write(writer)));
  return {
    writes: () => writes,
    unexpectedStatuses,
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}
