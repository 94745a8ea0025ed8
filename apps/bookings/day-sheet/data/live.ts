// Keeps a shown day up to date: with the change feed, and by reading closures and opening hours again and again.
import type { ChangePage } from '@bay-booking/client';
import { backgroundApi, events, isConnectionProblem, offlineSince } from '../api.ts';
import { applyChange, type Day } from '../day/day.ts';
import { clockAt } from '../day/time.ts';
import { haveBaysChanged, refreshSchedule } from './read.ts';

export interface LiveSheet {
  readonly drawBookings: (ids: readonly string[]) => void;
  readonly updateSchedule: () => void;
  readonly showNow: () => void;
  readonly setStatus: (text: string) => void;
  readonly reload: () => void;
}

/** Closures and opening hours of other programs appear within a minute. */
const refreshMs = 45_000;
const retryMs = 2_000;

export const connectionText = ({ timeZone }: Day): string =>
  offlineSince === undefined ? 'Live' : `No connection since ${clockAt(offlineSince, timeZone)}`;

/** Applies the changes of other programs. After a gap in the feed, the page loads the day again. */
export async function follow(day: Day, position: string, sheet: LiveSheet, signal: AbortSignal): Promise<void> {
  const { facilityId } = day.location;
  let attempt = new AbortController();
  let mustCatchUp = false;
  const readNow = () => attempt.abort();
  const showConnection = (): void => {
    sheet.setStatus(connectionText(day));
    // A request that waits on a lost connection would notice the loss only after 40 s.
    readNow();
  };
  // Only the feed changes the bookings of the day, because a response to a change can arrive after a later change.
  const catchUp = (): void => {
    mustCatchUp = true;
    readNow();
  };
  events.addEventListener('catch-up', catchUp, { signal });
  events.addEventListener('connection', showConnection, { signal });
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
      if (changed) sheet.updateSchedule();
      sheet.showNow();
      sheet.setStatus('Live');
      if (!either.aborted) events.dispatchEvent(new Event('caught-up'));
      // A form that is open keeps the bays that it shows.
      if (mustReload && !document.querySelector('dialog[open]')) return sheet.reload();
      await apply(backgroundApi.changes.follow(options()));
    } catch (error) {
      if (mustCatchUp) continue;
      if (!isConnectionProblem(error)) sheet.setStatus('Waiting for a new sign-in');
      await new Promise((resolve) => setTimeout(resolve, retryMs));
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
