// Keeps a shown day up to date: with the change feed, and by reading closures and opening hours again and again.
import { backgroundClient, isConnectionProblem, onConnection } from '../api.ts';
import { applyChange, type Day, refreshSchedule } from '../day/day.ts';
import { clockAt } from '../day/time.ts';

export interface LiveSheet {
  readonly drawBooking: (id: string) => void;
  readonly updateSchedule: () => void;
  readonly showNow: () => void;
  readonly setStatus: (text: string) => void;
}

const refreshMs = 30_000;
const refreshWhileOfflineMs = 2_000;

/** Applies the changes of other programs. After a gap in the feed, the page loads the day again. */
export async function follow(day: Day, position: string, sheet: LiveSheet, signal: AbortSignal): Promise<void> {
  const { facilityId } = day.location;
  while (!signal.aborted) {
    try {
      for await (const page of backgroundClient.changes.follow({ facilityId, from: position, signal })) {
        if (page.startsOver) return location.reload();
        for (const change of page.items) if (applyChange(day, change)) sheet.drawBooking(change.id);
        position = page.next;
      }
    } catch {
      // There is no token while a dialog is open, or auth does not respond.
      sheet.setStatus('Waiting for a new sign-in');
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
