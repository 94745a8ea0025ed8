// How is somebody told what to mend? Faults beside their fields, and waiting times in words.

export interface Fault {
  readonly field?: string;
  readonly text: string;
}

export function byField(faults: readonly Fault[]): Record<string, string> {
  return Object.fromEntries(faults.filter((fault) => fault.field).map((fault) => [fault.field, fault.text]));
}

/** "in 15 minutes", as people say it. */
export const inWords = (seconds: number): string =>
  seconds < 60 ? `${seconds} seconds` : seconds < 120 ? 'a minute' : `${Math.ceil(seconds / 60)} minutes`;
