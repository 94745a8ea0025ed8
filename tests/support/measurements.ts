// Collects the durations and counts that the tests of failures measure, for the tables in docs/operations/runbook.md.
import type { Load } from './booking-load.ts';

const lines: string[] = [];

/** `failure` describes the failure, for example the component that was stopped. */
export function recordMeasurement(failure: string, result: Readonly<Record<string, unknown>>): void {
  lines.push(`${failure}: ${JSON.stringify(result)}`);
}

/** Records the number of responses of each status, and the duration of the slowest request in milliseconds. */
export const recordLoad = (failure: string, load: Load, more: Readonly<Record<string, unknown>> = {}): void =>
  recordMeasurement(failure, { ...load.statuses(), longest: load.longest(), ...more });

/** Prints the measurements of this test file if the environment variable FAULT_REPORT is set. */
export function printMeasurements(): void {
  if (process.env.FAULT_REPORT) process.stdout.write(`${lines.join('\n')}\n`);
}
