// Keeps a shown day up to date: with the change feed, and by reading closures and opening hours again and again.
import type { ChangePage } from '@bay-booking/client';
import { backgroundApi, events, isBusy, isConnectionProblem, isFinal, offlineSince } from '../api.ts';
import { applyChange, type Day } from '../day/day.ts';
import { clockAt } from '../day/time.ts';
import { haveBaysChanged, refreshSchedule } from './read.ts';
import { waitToRepeat } from './repeat.ts';

export interface LiveSheet {
  readonly drawBookings: (ids: readonly string[]) => void;
  readonly updateSchedule: () => void;
  readonly showNow: () => void;
  readonly setStatus: (text: string) => void;
  readonly reload: () => void;
}

/** Closures and opening hours of other programs appear within a minute. */
const refreshMs = 45_000;

export const connectionText = ({ timeZone }: Day): string =>
  offlineSince === undefined ? 'Live' : `No connection since ${clockAt(offlineSince, timeZone)}`;

/** Applies the changes of other programs. After a gap in the feed, the page loads the day again. */
export async function follow(day: Day, position: string, sheet: LiveSheet, signal: AbortSignal): Promise<void> {
  const { facilityId } = day.location;
  let attempt = new AbortController();
  let mustCatchUp = false;
  let failures = 0;
  const stopped = new AbortController();
  const readNow = () => attempt.abort();
  const showConnection = (): void => {
    sheet.setStatus(connectionText(day));
    // A request that waits on a lost connection would notice the loss only after 40 s.
    if (offlineSince !== undefined) readNow();
  };
  // Only the feed changes the bookings of the day, because a response to a change can arrive after a later change.
  const catchUp = (): void => {
    mustCatchUp = true;
    readNow();
  };
  const listening = { signal: AbortSignal.any([signal, stopped.signal]) };
  events.addEventListener('catch-up', catchUp, listening);
  events.addEventListener('connection', showConnection, listening);
  while (!signal.aborted) {
    attempt = new AbortController();
    mustCatchUp = false;
    const timer = setTimeout(readNow, refreshMs);
    const either = AbortSignal.any([signal, attempt.signal]);
    const options = () => ({ facilityId, from: position, signal: either });
    try {
      const [changed, mustReload] = await Promise.all([
        refreshSchedule(day),
        haveBaysChanged(day),
        apply(backgroundApi.changes.read(options())),
      ]);
      failures = 0;
      if (changed) sheet.updateSchedule();
      sheet.showNow();
      sheet.setStatus('Live');
      if (!either.aborted) events.dispatchEvent(new Event('caught-up'));
      // A form or a drag keeps the bays that it shows.
      if (mustReload && !isBusy()) return sheet.reload();
      await apply(backgroundApi.changes.follow(options()));
    } catch (error) {
      if (mustCatchUp) continue;
      if (isFinal(error)) {
        stopped.abort();
        return sheet.setStatus('Not live any more. Reload the page.');
      }
      if (!isConnectionProblem(error)) sheet.setStatus('Waiting for a new sign-in');
      failures += 1;
      await waitToRepeat(failures, events, signal);
    } finally {
      clearTimeout(timer);
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
