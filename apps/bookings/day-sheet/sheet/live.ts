// Keeps a shown day up to date: with the change feed, and by reading closures and opening hours again and again.
import type { ChangePage } from '@bay-booking/client';
import { backgroundClient, events, isConnectionProblem, offlineSince } from '../api.ts';
import { applyChange, type Day, refreshSchedule } from '../day/day.ts';
import { clockAt } from '../day/time.ts';

export interface LiveSheet {
  readonly drawBookings: (ids: readonly string[]) => void;
  readonly updateSchedule: () => void;
  readonly showNow: () => void;
  readonly setStatus: (text: string) => void;
}

/** With 50 open sheets, the service uses 1.7 % of a core while nothing happens. With 30 s, it would use 2.1 %. */
const refreshMs = 45_000;
const refreshWhileOfflineMs = 2_000;

/** Applies the changes of other programs. After a gap in the feed, the page loads the day again. */
export async function follow(
  day: Day,
  position: string,
  sheet: LiveSheet & { readonly reload: () => void },
  signal: AbortSignal,
): Promise<void> {
  const { facilityId } = day.location;
  let attempt = new AbortController();
  const readNow = () => attempt.abort();
  // Only the feed changes the bookings of the day, because a response to a change can arrive after a later change.
  events.addEventListener('catch-up', readNow, { signal });
  // A request that waits on a lost connection would notice the loss only after 40 s.
  events.addEventListener('connection', readNow, { signal });
  while (!signal.aborted) {
    attempt = new AbortController();
    const either = AbortSignal.any([signal, attempt.signal]);
    const options = () => ({ facilityId, from: position, signal: either });
    try {
      const [changed] = await Promise.all([refreshSchedule(day), apply(backgroundClient.changes.read(options()))]);
      if (changed) sheet.updateSchedule();
      if (!either.aborted) events.dispatchEvent(new Event('caught-up'));
      await apply(backgroundClient.changes.follow(options()));
    } catch (error) {
      if (either.aborted) continue;
      if (!isConnectionProblem(error)) sheet.setStatus('Waiting for a new sign-in');
      await new Promise((resolve) => setTimeout(resolve, refreshWhileOfflineMs));
    }
  }

  async function apply(pages: AsyncIterable<ChangePage>): Promise<void> {
    for await (const page of pages) {
      if (page.startsOver) return sheet.reload();
      sheet.drawBookings(page.items.filter((change) => applyChange(day, change)).map(({ id }) => id));
      position = page.next;
    }
  }
}

/** Reads closures and opening hours again and again, and shows whether the service responds. */
export function keepSchedule(day: Day, sheet: LiveSheet, signal: AbortSignal): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = async (): Promise<void> => {
    try {
      if (await refreshSchedule(day)) sheet.updateSchedule();
      if (offlineSince === undefined) sheet.setStatus('Live');
    } catch (error) {
      if (!isConnectionProblem(error)) sheet.setStatus('Waiting for a new sign-in');
    }
    sheet.showNow();
    schedule();
  };
  const schedule = (): void => {
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(refresh, offlineSince === undefined ? refreshMs : refreshWhileOfflineMs);
  };
  const showConnection = (): void => {
    sheet.setStatus(offlineSince === undefined ? 'Live' : `No connection since ${clockAt(offlineSince, day.timeZone)}`);
    schedule();
  };
  events.addEventListener('connection', showConnection, { signal });
  schedule();
}
