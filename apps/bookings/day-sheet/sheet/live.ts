// Keeps a shown day up to date: with the change feed, and by reading closures and opening hours again and again.
import { backgroundClient, isConnectionProblem, onConnection } from '../api.ts';
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
  // A request that waits on a lost connection would notice the loss only after 40 s.
  onConnection((since) => since === undefined && attempt.abort(), signal);
  while (!signal.aborted) {
    attempt = new AbortController();
    const either = AbortSignal.any([signal, attempt.signal]);
    try {
      for await (const page of backgroundClient.changes.follow({ facilityId, from: position, signal: either })) {
        if (page.startsOver) return sheet.reload();
        const changed = page.items.filter((change) => applyChange(day, change)).map(({ id }) => id);
        sheet.drawBookings(changed);
        position = page.next;
      }
    } catch (error) {
      if (!isConnectionProblem(error)) sheet.setStatus('Waiting for a new sign-in');
      await new Promise((resolve) => setTimeout(resolve, refreshWhileOfflineMs));
    }
  }
}

/** Reads closures and opening hours again and again, and shows whether the service responds. */
export function keepSchedule(day: Day, sheet: LiveSheet, signal: AbortSignal): void {
  let since: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = async (): Promise<void> => {
    try {
      if (await refreshSchedule(day)) sheet.updateSchedule();
      if (since === undefined) sheet.setStatus('Live');
    } catch (error) {
      if (!isConnectionProblem(error)) sheet.setStatus('Waiting for a new sign-in');
    }
    sheet.showNow();
    schedule();
  };
  const schedule = (): void => {
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(refresh, since === undefined ? refreshMs : refreshWhileOfflineMs);
  };
  onConnection((failingSince) => {
    since = failingSince;
    sheet.setStatus(since === undefined ? 'Live' : `No connection since ${clockAt(since, day.timeZone)}`);
    schedule();
  }, signal);
  schedule();
}
