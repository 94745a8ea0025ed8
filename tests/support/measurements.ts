// Measures durations, and prints the measurements of the tests of failures for the tables in
// docs/operations/runbook.md.
import { eventually } from '@bay-booking/testkit/wait';
import type { Load } from './booking-load.ts';

/** Returns the duration of `work` in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return Math.round(performance.now() - start);
}

/** Waits as `eventually` does. Returns the duration in milliseconds. */
export const timeUntil = (check: () => Promise<unknown>): Promise<number> => timed(() => eventually(check));

/** Prints the result if FAULT_REPORT is set. `failure` names, for example, the component that was stopped. */
export function recordMeasurement(failure: string, result: Readonly<Record<string, unknown>>): void {
  if (process.env.FAULT_REPORT) process.stdout.write(`${failure}: ${JSON.stringify(result)}\n`);
}

/** Records the number of responses of each status, and the duration of the slowest request in milliseconds. */
export const recordLoad = (failure: string, load: Load, more: Readonly<Record<string, unknown>> = {}): void =>
  recordMeasurement(failure, { ...load.statuses(), longest: load.longest(), ...more });
